"""Follow a turn to its end: its events as they are stored, and on a terminal a line of progress.

Ends with the turn's status as exit code. Stopping to watch never stops the turn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import CursorExpired, WaitTimeout
from sessions_app.management import exits
from sessions_app.runtime import DurableRuntime, TurnHandle
from sessions_app.runtime.waiting import pauses

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.events import EventView
    from sessions_app.contract.views import TurnView
    from sessions_app.management.output import Output

CHECKED: Final = True
_PAGE: Final = 1000


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("turn", help="turn id")
    parser.add_argument("--timeout", type=float, help="seconds to follow it, default for ever")
    parser.add_argument("--after", help="cursor of the last event already seen")


def run(options: dict[str, Any], out: Output) -> int:
    """Follow the named Turn."""
    with DurableRuntime() as runtime:
        turn = runtime.find_turn(options["turn"])
        return follow(turn, out, options["timeout"], options["after"])


def follow(turn: TurnHandle, out: Output, timeout: float | None, after: str | None = None) -> int:
    """Print events until the Turn has ended; raises WaitTimeout."""
    began, timeline = time.monotonic(), Timeline(turn, after)
    try:
        for pause in pauses(timeout):
            turn.runtime.closed.wait(pause)
            view = turn.status()  # before its events: a Turn that has ended has no later ones
            for event in timeline.fresh():
                out.progress("")
                out.data(event)
                out.line(_event_line(event))
            if view.is_terminal:
                out.progress("")
                out.data(view)
                out.line(_end_line(view))
                return exits.of_turn(view.status)
            out.progress(_progress_line(view, time.monotonic() - began))
    finally:
        out.progress("")
    msg = f"turn {turn.turn_id} of thread {turn.key} did not end within {timeout} s; it goes on"
    raise WaitTimeout(msg)


@dataclass(slots=True)
class Timeline:
    """Where the reader stands among the events of one Turn."""

    turn: TurnHandle
    cursor: str | None
    seen: int = 0

    def fresh(self) -> list[EventView]:
        """Give the events that were not given yet, up to the newest."""
        found: list[EventView] = []
        at_end = False
        while not at_end:
            try:
                page = self.turn.list_events(self.cursor, _PAGE)
            except CursorExpired:
                self.cursor = None  # what was pruned is gone; go on with the oldest that is left
                continue
            found += [event for event in page.items if event.sequence > self.seen]
            self.cursor, self.seen = page.next_cursor, max(self.seen, page.through)
            at_end = page.through >= page.last_sequence
        return found


def _event_line(event: EventView) -> str:
    shown = ("status", "from", "to", "reason", "name", "state", "ordinal", "phase", "errorCode")
    facts = " ".join(f"{name}={event.payload[name]}" for name in shown if event.payload.get(name))
    run = f" {event.run_id}" if event.run_id else ""
    return f"{event.at:%H:%M:%S.%f}"[:-3] + f" {event.sequence:>5} {event.type}{run} {facts}"


def _progress_line(view: TurnView, seconds: float) -> str:
    reason = f" ({view.reason})" if view.reason else ""
    rounds = f", {view.rounds} model rounds" if view.rounds else ""
    takeovers = f", {view.takeovers} takeovers" if view.takeovers else ""
    return f"{view.turn_id} {view.status}{reason} for {seconds:.0f} s{rounds}{takeovers}"


def _end_line(view: TurnView) -> str:
    why = f" {view.error_code}: {view.error_text}" if view.error_code else ""
    result = f" {view.result}" if view.result is not None else ""
    return f"{view.turn_id} {view.status}{why}{result}"
