"""Pause, resume and cancel: wishes about a Turn, which its owner or its next claim carries out.

What each does to which status stands in `control_table.py`; inputs have a room of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Conflict
from sessions_app.contract.status import TurnStatus, WaitReason
from sessions_app.machine import awaiting, ending, tools
from sessions_app.machine.claiming import all_settled
from sessions_app.machine.control_table import Answer, Operation, permit
from sessions_app.machine.receipts import Admitted
from sessions_app.machine.table import move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.machine.awaiting import Awaiting
    from sessions_app.machine.change import Change
    from sessions_app.models import ToolCall, Turn


def pause(change: Change, turn: Turn, request_id: str) -> Admitted:
    """Stop at the next safe boundary, or at once when no call is active (R047)."""
    if permit(Operation.PAUSE, turn).answer == Answer.UNCHANGED:
        return _stands(turn)
    turn.pause_request = request_id
    reason = _reason(turn)
    if turn.status == TurnStatus.RUNNING:
        move(change, turn, TurnStatus.PAUSING)
    if turn.run_id is None:
        move(change, turn, TurnStatus.PAUSED, reason)
    return _stands(turn)


def resume(
    change: Change, turn: Turn, calls: Sequence[ToolCall], expected_revision: int
) -> Admitted:
    """Lift the pause and nothing else: what the Turn waited for still holds (R048, R052).

    Raises Conflict when the caller saw another revision than the current one.
    """
    permit(Operation.RESUME, turn)
    if turn.revision != expected_revision:
        msg = (
            f"turn {turn.id} is PAUSED at revision {turn.revision}, not {expected_revision}; "
            "look at it again, then resume what you see"
        )
        raise Conflict(msg)
    turn.pause_request = None
    if turn.started_at is None:
        move(change, turn, TurnStatus.QUEUED)
    else:
        move(change, turn, TurnStatus.WAITING, _still_waits_for(turn, calls))
    return _stands(turn)


def cancel(
    change: Change,
    rows: Awaiting,
    request_id: str,
    *,
    left_traces: bool,
) -> Admitted:
    """Record the wish; the Turn ends at once when nothing of it has to be settled (R044, R045).

    `left_traces`: its native state has to be cleaned up, which is one commit of a Brain (R161). A
    suspect is let go, since settling runs nothing of its agent.
    """
    turn = rows.turn
    asked = permit(Operation.CANCEL, turn)
    turn.suspect = False
    turn.held_until = None
    if asked.answer == Answer.UNCHANGED:
        return _stands(turn)
    turn.cancel_request = request_id
    tools.request_cancel(change, turn, rows.calls)
    if turn.run_id is not None:
        move(change, turn, TurnStatus.CANCELLING)
        return _stands(turn)
    ending.abandon(change, rows)
    if left_traces or not all_settled(rows.calls):
        move(change, turn, TurnStatus.CANCELLING)
    else:
        ending.end(change, rows, TurnStatus.CANCELLED)
    return _stands(turn)


def _reason(turn: Turn) -> WaitReason | None:
    return None if turn.reason is None else WaitReason(turn.reason)


def _still_waits_for(turn: Turn, calls: Sequence[ToolCall]) -> WaitReason:
    """What held it before the pause, as the facts are now."""
    if turn.suspect:
        return WaitReason.SUSPECT
    if turn.reason != WaitReason.BACKOFF and not all_settled(calls):
        return awaiting.reason(calls)
    return _reason(turn) or WaitReason.HANDED_OVER


def _stands(turn: Turn) -> Admitted:
    """The receipt says where the Turn stands now."""
    return Admitted(turn.status.lower())
