"""`manage.py durable_up`: the embedded system, until Ctrl-C."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from durable_site.embedded.console import Console
from durable_site.embedded.folder import FolderTakenError
from durable_site.embedded.servers import ServerError
from durable_site.embedded.signals import requests_interrupt
from durable_site.embedded.supervisor import RoleFailedError
from durable_site.embedded.up import Wishes, run


class Command(BaseCommand):
    """Parse, run, say why it ended."""

    help = (
        "Run web, Brain, Hands and beat until Ctrl-C: on SQLite and the folder broker, or on what "
        "DATABASE_URL and REDIS_URL name."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare what may be wished."""
        parser.add_argument(
            "--full",
            action="store_true",
            default=bool(os.environ.get("FULL")),
            help="start a private PostgreSQL and Redis, and Flower behind a login",
        )
        parser.add_argument("--port", type=int, help="the loopback port of the web role")
        parser.add_argument("--brains", type=int, default=2, help="how many Brain processes")

    def handle(self, *_: object, **options: Any) -> None:  # noqa: ANN401 - Django's own shape
        """Run until interrupted."""
        wishes = Wishes(
            settings.STATE_DIR, options["port"], max(options["brains"], 1), options["full"]
        )
        console = Console()
        try:
            with requests_interrupt():
                run(wishes, console)
        except (FolderTakenError, RoleFailedError, ServerError, OSError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            console.line("interrupted")
        console.line("everything has stopped")
