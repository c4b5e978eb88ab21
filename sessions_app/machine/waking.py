"""When a scanner should look at a Thread: the one pure function behind `wake_at` (S2).

First match wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.status import SETTLED_CALLS, TurnStatus, WaitReason
from sessions_app.machine.awaiting import goes_on

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sessions_app.models import Thread, ToolCall, Turn

_GIVEN_BACK: Final = frozenset(
    {WaitReason.HANDED_OVER, WaitReason.INCOMPATIBLE, WaitReason.SUSPECT}
)


def wake_at(
    thread: Thread,
    head: Turn | None,
    calls: Sequence[ToolCall],
    *,
    open_inputs: bool,
    now: datetime,
) -> datetime | None:
    """Give the database time at which to look, or None when only a new fact can change anything.

    `head` is the first unfinished Turn of the Thread, `calls` are its calls that no checkpoint
    contains yet,
    `open_inputs` says that a steer or signal waits to be applied; an inject wakes nobody. A time in
    the past is given as `now`.
    """
    if thread.lease_expires_at is not None:
        return thread.lease_expires_at
    if head is None or head.suspect:
        return None
    if head.cancel_request is not None and head.status != TurnStatus.CANCELLING:
        return now
    if head.status == TurnStatus.PAUSED:
        return _later(head.wait_deadline, now)
    ready = _ready(head, calls, open_inputs=open_inputs, now=now)
    if ready is None:
        return None
    holds = [ready, head.held_until, thread.incompatible_until]
    return max(moment for moment in holds if moment is not None)


def _ready(
    head: Turn, calls: Sequence[ToolCall], *, open_inputs: bool, now: datetime
) -> datetime | None:
    """When the head itself could go on, holds of the Thread and of a suspect left aside."""
    if head.reason == WaitReason.BACKOFF:
        times = (head.retry_at, head.wait_deadline)
        return min((moment for moment in times if moment is not None), default=now)
    if head.status == TurnStatus.RUNNING or head.reason in _GIVEN_BACK:
        return now  # its next owner begins or repeats what is open here, or parks it again
    if any(call.state not in SETTLED_CALLS for call in calls):
        return now if goes_on(calls) else _later(head.wait_deadline, now)
    if head.status != TurnStatus.WAITING:
        return now
    if calls or open_inputs or head.reason == WaitReason.UNKNOWN:
        return now
    return _later(head.wait_deadline, now)


def _later(deadline: datetime | None, now: datetime) -> datetime | None:
    """A deadline, never in the past."""
    return None if deadline is None else max(deadline, now)
