"""Show all that is public of a session, thread or turn, as of one cursor. Starts nothing.

With --json it is what `EventProjection` begins with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessions_app.management import scopes
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("what", help=scopes.HELP)


def run(options: dict[str, Any], out: Output) -> int:
    """Show it."""
    with DurableRuntime() as runtime:
        taken = scopes.find(runtime, options["what"]).snapshot()
    out.data(taken)
    out.line(f"{taken.key} at {taken.last_sequence}, events through {taken.pruned_through} pruned")
    for thread in taken.threads.values():
        out.line(f"  thread {thread.key.thread_id} {thread.status} {thread.definition}")
    for turn in taken.turns.values():
        out.line(f"  turn {turn.turn_id} {turn.status} in {turn.key.thread_id}")
    for said in taken.history:
        out.line(f"  message {said.message_id} {said.role} at {said.sequence}")
    for call in taken.tools.values():
        out.line(f"  tool {call.name} {call.state} of {call.turn_id}, round {call.round}")
    out.line(f"cursor {taken.cursor}")
    return 0
