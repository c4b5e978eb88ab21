"""Close a session with its threads, or one thread, for new turns; cancels nothing, deletes nothing.

Refused while a turn is unfinished. What is closed can be read, and purged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Invalid
from sessions_app.management import scopes
from sessions_app.runtime import DurableRuntime, TurnHandle

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("scope", help="namespace/session, or namespace/session/thread")


def run(options: dict[str, Any], out: Output) -> int:
    """Close it; a repeat finds it closed."""
    with DurableRuntime() as runtime:
        found = scopes.find(runtime, options["scope"])
        if isinstance(found, TurnHandle):
            msg = "a turn is not closed but cancelled: durable cancel"
            raise Invalid(msg)
        found.close()
        out.data(found.view())
    out.line(f"{found.key} is closed")
    return 0
