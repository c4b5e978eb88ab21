"""Django's handle on the site itself."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """The app that assembles the houses; its system checks are registered when it is ready."""

    name = "durable_site"
    verbose_name = "Durable site"

    def ready(self) -> None:
        """Register the system checks."""
        from durable_site import checks  # noqa: F401, PLC0415 - importing registers them
