"""List stored events of a session, thread or turn, with the cursor that goes on. Starts nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sessions_app.management import scopes
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.events import EventView
    from sessions_app.management.output import Output

CHECKED: Final = True
_WIDTH: Final = 120


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("what", help=scopes.HELP)
    parser.add_argument("--cursor", help="go on behind it; without one, from the oldest kept")
    parser.add_argument("--limit", type=int, default=100, help="events examined, 1 to 1000")


def run(options: dict[str, Any], out: Output) -> int:
    """List one page."""
    with DurableRuntime() as runtime:
        scope = scopes.find(runtime, options["what"])
        page = scope.list_events(options["cursor"], options["limit"])
    out.data(page)
    for event in page.items:
        out.line(_line(event))
    out.line(f"through {page.through} of {page.last_sequence}, next: --cursor {page.next_cursor}")
    return 0


def _line(event: EventView) -> str:
    facts = json.dumps(event.payload, ensure_ascii=False)
    shown = facts if len(facts) <= _WIDTH else f"{facts[:_WIDTH]}…"
    where = " ".join(filter(None, (event.thread_id, event.turn_id, event.run_id)))
    return f"{event.sequence:>6} {event.at:%Y-%m-%d %H:%M:%S} {event.type} {where} {shown}"
