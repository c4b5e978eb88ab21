"""Django's handle on the Brain house."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class SessionsConfig(AppConfig):
    """The app that owns Sessions, Threads, Turns and everything that hangs on them."""

    name = "sessions_app"
    label = "sessions_app"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Durable sessions"

    def ready(self) -> None:
        """Give connections the database clock, and find the agents of every installed app."""
        from sessions_app.store import clock  # noqa: PLC0415 - apps are loaded only now

        clock.install()
        autodiscover_modules("agents")
