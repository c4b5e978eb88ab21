"""Show a turn, or a session with its threads and newest turns. Starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessions_app.runtime import DurableRuntime, SessionHandle

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.views import TurnView
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("what", help="turn id, or namespace/session")
    parser.add_argument("--cursor", help="of a session: go on behind this turn")
    parser.add_argument("--limit", type=int, default=100, help="of a session: turns shown")


def run(options: dict[str, Any], out: Output) -> int:
    """Show it."""
    with DurableRuntime() as runtime:
        namespace, slash, session_id = options["what"].partition("/")
        if slash:
            _session(runtime.get_session(namespace, session_id), options, out)
        else:
            view = runtime.find_turn(options["what"]).status()
            out.data(view)
            out.line(_line(view))
    return 0


def _session(session: SessionHandle, options: dict[str, Any], out: Output) -> None:
    view, threads = session.view(), session.list_threads()
    turns = session.list_turns(options["cursor"], options["limit"])
    out.data(
        {
            "session": view,
            "threads": threads.items,
            "turns": turns.items,
            "nextCursor": turns.next_cursor,
        }
    )
    out.line(f"{view.key} {view.status}, {view.last_sequence} events")
    for thread in threads.items:
        out.line(f"  {thread.key.thread_id} {thread.status} {thread.definition}")
    for turn in turns.items:
        out.line(f"    {_line(turn)}")
    if turns.next_cursor:
        out.line(f"more: --cursor {turns.next_cursor}")


def _line(view: TurnView) -> str:
    reason = f" ({view.reason})" if view.reason else ""
    error = f", {view.error_code}: {view.error_text}" if view.error_code else ""
    when = view.finished_at or view.started_at or view.created_at
    return (
        f"{view.turn_id} {view.status}{reason} in {view.key}, revision {view.revision}, "
        f"{view.rounds} rounds, {view.takeovers} takeovers, {when.isoformat()}{error}"
    )
