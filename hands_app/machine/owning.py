"""What an owner may do: claim, start, finish, give back. Each decides on the row as it is now."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract.messages import ExecutionState, UpdateKind
from hands_app.machine.execution import (
    OWNED,
    Decision,
    Execution,
    News,
    Refusal,
    State,
    failed,
    give_back,
    move,
    settle,
)

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.messages import ExecutionResult

LEASE: Final = timedelta(seconds=30)
RENEWAL: Final = timedelta(seconds=10)


def is_claimable(execution: Execution, now: datetime) -> bool:
    """Whether a host may take it now: free, due, and not too late for a first start (S8)."""
    if execution.state is not State.ADMITTED or execution.available_at > now:
        return False
    return not is_too_late(execution, now)


def is_too_late(execution: Execution, now: datetime) -> bool:
    """Whether a first start is no longer allowed; a recovery of an old start always is."""
    late = execution.not_after is not None and now > execution.not_after
    return late and execution.was_never_started


def claim(
    execution: Execution, host_id: str, token: str, now: datetime, lease: timedelta = LEASE
) -> Decision | None:
    """Take an execution under a fresh token; None when somebody was faster."""
    if not is_claimable(execution, now):
        return None
    owned = move(execution, State.CLAIMED, host_id=host_id, token=token, lease_until=now + lease)
    return Decision(owned)


def start(execution: Execution, token: str, now: datetime) -> Decision | Refusal:
    """Write the start record, the last commit before the effect (S10).

    Starting twice with one token is one start, so that a lost answer can be asked about (S7).
    """
    if execution.token != token:
        return Refusal.LOST
    if execution.state is State.CANCELLED:
        return Refusal.CANCELLED
    if execution.state is State.STARTED:
        return Decision(execution)
    if execution.state is not State.CLAIMED:
        return Refusal.LOST
    if is_too_late(execution, now):
        return Refusal.TOO_LATE
    attempt = execution.attempt + 1
    begun = move(execution, State.STARTED, attempt=attempt, started_at=now)
    news = News(UpdateKind.STARTED, {"attempt": attempt, "reason": _reason(execution)})
    return Decision(begun, (news,))


def _reason(execution: Execution) -> str:
    """Name the proof that allows this start (I26)."""
    if execution.was_never_started:
        return "first"
    return "lookup found nothing" if execution.lookups else f"{execution.effect} may run again"


def finish(
    execution: Execution, token: str, result: ExecutionResult, now: datetime
) -> Decision | Refusal:
    """Record how an attempt ended.

    The real outcome of an attempt that was called UNKNOWN meanwhile is evidence and resolves it
    (I28); a terminal state is never overwritten.
    """
    if execution.token != token:
        return Refusal.LOST
    if execution.state in OWNED:
        return settle(execution, result, now)
    if execution.state is State.UNKNOWN and result.state is not ExecutionState.UNKNOWN:
        return settle(execution, result, now)
    if execution.state == State(result.state):
        return Decision(execution)
    return Refusal.CANCELLED if execution.state is State.CANCELLED else Refusal.LOST


def expire(execution: Execution, now: datetime) -> Decision | None:
    """End an execution that nobody could start in time; None when it is not that."""
    if execution.state not in {State.ADMITTED, State.CLAIMED} or not is_too_late(execution, now):
        return None
    late = failed("NOT_STARTED", "no worker could start it in time; it has no effect")
    return settle(execution, late, now)


def release(execution: Execution, token: str, now: datetime) -> Decision | Refusal:
    """Give a claim back before its start, as a draining host does (S24)."""
    if execution.token != token or execution.state is not State.CLAIMED:
        return Refusal.LOST
    return give_back(execution, now, execution.resume)
