"""Closing: allowed only when all work has settled; it cancels nothing (R027)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Conflict
from sessions_app.contract.events import EventType
from sessions_app.contract.status import Lifecycle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.machine.change import Change
    from sessions_app.models import Session, Thread


def close_thread(change: Change, thread: Thread, unfinished: int) -> None:
    """Close; a second close changes nothing. Raises Conflict while turns are unfinished."""
    if thread.status == Lifecycle.CLOSED:
        return
    if unfinished:
        msg = (
            f"thread {thread.thread_id} has {unfinished} unfinished "
            "turns; finish or cancel them first"
        )
        raise Conflict(msg)
    thread.status = Lifecycle.CLOSED
    thread.closed_at = change.now
    change.emit(thread.session_id, EventType.THREAD_CLOSED, {}, thread=thread)


def close_session(
    change: Change, session: Session, threads: Sequence[Thread], unfinished: int
) -> None:
    """Close the Session and each open Thread in one change.

    Raises Conflict while turns are unfinished.
    """
    if session.status == Lifecycle.CLOSED:
        return
    if unfinished:
        msg = (
            f"session {session.key} has {unfinished} unfinished turns; finish or cancel them first"
        )
        raise Conflict(msg)
    for thread in threads:
        close_thread(change, thread, 0)
    session.status = Lifecycle.CLOSED
    session.closed_at = change.now
    change.emit(session.id, EventType.SESSION_CLOSED, {})
