"""`manage.py durable_demo`: the main job, shown and proven, in a folder of its own."""

import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from durable_site.demo.show import KILLED_REQUEST, ORACLE_VARIABLE, show
from durable_site.demo.source import MODEL_VARIABLE, NoModelError, open_source
from durable_site.demo.watch import DemoFailedError
from durable_site.embedded import assembly
from durable_site.embedded.console import Console
from durable_site.embedded.signals import requests_interrupt
from durable_site.embedded.supervisor import RoleFailedError

_FOLDER_VARIABLE = "DURABLE_DEMO_FOLDER"
_KEPT = (MODEL_VARIABLE,)
_NOT_OURS = ("DATABASE_URL", "HANDS_DATABASE_URL", "REDIS_URL", "RABBITMQ_URL")
_DRAIN_SECONDS = "3"
_INTERRUPTED = 130
_STOPPED = "demo: interrupted"


class Command(BaseCommand):
    """Begin again in a private environment, show, say why it failed."""

    help = (
        "Show the main job: a Turn survives the death of its Brain in the middle of a model call. "
        f"{MODEL_VARIABLE}=openai:<model> or anthropic:<model> asks a real provider."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare what may be wished."""
        parser.add_argument("--keep", action="store_true", help="keep the state folder")

    def handle(self, *_: object, **options: Any) -> None:  # noqa: ANN401 - Django's own shape
        """Show the main job; what is left after a failure is named."""
        if not os.environ.get(_FOLDER_VARIABLE):
            _begin_again(Path(tempfile.mkdtemp(prefix="durable-demo-")))
        folder = settings.STATE_DIR
        keep = options["keep"]
        try:
            with requests_interrupt():
                last = _show(folder)
        except (DemoFailedError, NoModelError, RoleFailedError, OSError) as error:
            keep = not isinstance(error, NoModelError)
            message = f"demo: failed: {error}" + (f"\nstate and logs: {folder}" if keep else "")
            raise CommandError(message) from error
        except KeyboardInterrupt:
            raise CommandError(_STOPPED, returncode=_INTERRUPTED) from None
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
        self.stdout.write(last)


def _begin_again(folder: Path) -> NoReturn:
    """Replace this process by the same command in an environment that names nothing but the demo.

    Settings are read once in a process, and the demo's database must not be the caller's.
    """
    mine = {k: v for k, v in os.environ.items() if not k.startswith("DURABLE_") or k in _KEPT}
    env = {k: v for k, v in mine.items() if k not in _NOT_OURS}
    env |= {_FOLDER_VARIABLE: str(folder), "DURABLE_STATE_DIR": str(folder)}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], env)  # noqa: S606 - ourselves


def _keep_log_lines_off_the_screen(logs: Path) -> None:
    logs.mkdir(mode=0o700)
    logging.basicConfig(filename=logs / "demo.log", level=logging.INFO, force=True)


def _show(folder: Path) -> str:
    _keep_log_lines_off_the_screen(folder / "logs")
    journal = folder / "requests.jsonl"
    model, leads = open_source(os.environ.get(MODEL_VARIABLE, ""), journal, KILLED_REQUEST)
    own = {ORACLE_VARIABLE: str(folder / "oracle.jsonl"), "DURABLE_DRAIN_SECONDS": _DRAIN_SECONDS}
    return show(assembly.embedded_environment(folder, **own, **leads), model, Console())
