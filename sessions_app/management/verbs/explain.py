"""Say why a turn is not running: the first cause, its facts, what may be done next.

With --cursor it says instead whether an observer can go on from that place in the timeline.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Final

from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.explanation import CursorExplanation
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("turn", help="turn id")
    parser.add_argument("--cursor", help="an observer's place in the session's timeline")


def run(options: dict[str, Any], out: Output) -> int:
    """Explain it."""
    with DurableRuntime() as runtime:
        turn = runtime.find_turn(options["turn"])
        if options["cursor"] is not None:
            session = runtime.get_session(*astuple(turn.key.session))
            return _place(session.explain_cursor(options["cursor"]), out)
        said = turn.explain()
    out.data(said)
    out.line(f"{said.turn_id} {said.status}: {said.cause}")
    out.line(f"  {said.text}")
    for name, value in said.facts.items():
        if value not in (None, [], {}):
            out.line(f"  {name}: {value}")
    for number, place in enumerate(said.queue, start=1):
        reason = f" ({place.reason})" if place.reason else ""
        out.line(f"  queue {number}: {place.turn_id} {place.status}{reason}")
    if said.last_run is not None:
        out.line(f"  last run: {said.last_run.run_id} {said.last_run.status}")
    if said.waits_for is not None:
        out.line(f"  waits for: {said.waits_for}")
    out.line(f"  next: {'; '.join(map(str, said.next_actions))}")
    return 0


def _place(said: CursorExplanation, out: Output) -> int:
    out.data(said)
    out.line(f"cursor at {said.sequence} of {said.last_sequence}: {said.state}")
    out.line(f"  {said.text}")
    out.line(f"  next: {'; '.join(map(str, said.next_actions))}")
    return 0
