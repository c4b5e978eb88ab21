"""`manage.py durable <verb>`: one command, a module for each verb under `management/verbs`."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from sessions_app.contract.errors import DurableError
from sessions_app.management import exits
from sessions_app.management.output import Output
from sessions_app.management.verbs import VERBS


class Command(BaseCommand):
    """Find the verb, run it, turn its errors into one line and an exit code."""

    help = "Submit, watch, explain and look after durable Turns."
    epilog = exits.HELP
    requires_system_checks = ()  # `doctor` shows them instead of stopping at the first

    def add_arguments(self, parser: CommandParser) -> None:
        """Give each verb a parser of its own."""
        parser.epilog = exits.HELP
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
        for name, verb in VERBS.items():
            described = verb.__doc__.splitlines()[0] if verb.__doc__ else name
            own = verbs.add_parser(name, help=described, description=verb.__doc__)
            own.add_argument("--json", action="store_true", help="print JSON on standard output")
            verb.add_arguments(own)

    def handle(self, *_: object, **options: Any) -> None:  # noqa: ANN401 - Django's own shape
        """Run the verb; anything but success leaves through the exit code."""
        verb = VERBS[options["verb"]]
        out = Output(self.stdout, self.stderr, as_json=options["json"])
        try:
            if verb.CHECKED:
                self.check()
            code = verb.run(options, out)
        except DurableError as error:
            out.error(error)
            code = exits.of(error)
        except KeyboardInterrupt:
            code = exits.INTERRUPTED
        if code != exits.DONE:
            sys.exit(code)
