"""What may happen to a Turn: the one list of legal moves.

The reference page is generated from it (I2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.events import EventType
from sessions_app.contract.status import TERMINAL, TurnStatus, WaitReason

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.machine.change import Change
    from sessions_app.models import Turn

QUEUED, RUNNING, WAITING = TurnStatus.QUEUED, TurnStatus.RUNNING, TurnStatus.WAITING
PAUSING, PAUSED, CANCELLING = TurnStatus.PAUSING, TurnStatus.PAUSED, TurnStatus.CANCELLING
COMPLETED, FAILED, CANCELLED = TurnStatus.COMPLETED, TurnStatus.FAILED, TurnStatus.CANCELLED

LEGAL: Final[dict[tuple[TurnStatus, TurnStatus], str]] = {
    (QUEUED, RUNNING): "a host claims it as the first unfinished Turn of its Thread",
    (QUEUED, PAUSED): "paused before it began",
    (QUEUED, CANCELLED): "cancelled before it began",
    (RUNNING, WAITING): "needs results, answers or time; lease and slot are given back",
    (RUNNING, PAUSING): "a pause was asked for while it is owned",
    (RUNNING, CANCELLING): "a cancel was asked for while it is owned",
    (RUNNING, COMPLETED): "done",
    (RUNNING, FAILED): "failed for good, all effects settled",
    (WAITING, RUNNING): "a host claims it",
    (WAITING, WAITING): "waits for something else now",
    (WAITING, PAUSED): "paused; nobody owns it",
    (WAITING, CANCELLING): "cancelled; effects settle",
    (WAITING, CANCELLED): "cancelled; nothing to settle",
    (WAITING, FAILED): "its last effect settled after it had failed for good",
    (PAUSING, PAUSED): "stopped at a safe boundary",
    (PAUSING, CANCELLING): "cancelled before it stopped",
    (PAUSING, COMPLETED): "done before it reached a boundary",
    (PAUSING, FAILED): "failed for good before it reached a boundary",
    (PAUSED, QUEUED): "resumed; it had not begun",
    (PAUSED, WAITING): "resumed",
    (PAUSED, CANCELLING): "cancelled; effects settle",
    (PAUSED, CANCELLED): "cancelled; nothing to settle",
    (CANCELLING, CANCELLED): "all effects settled",
    (CANCELLING, FAILED): "failed for good while it was being cancelled",
}


class IllegalMove(AssertionError):
    """A decision asked for a move that the table does not list.

    A bug of ours, never a caller's doing.
    """


def move(change: Change, turn: Turn, to: TurnStatus, reason: WaitReason | None = None) -> None:
    """Change the status: revision up by one, the event beside it (I2, I21). Raises IllegalMove."""
    before = TurnStatus(turn.status)
    if (before, to) not in LEGAL or (before == to and turn.reason == reason):
        msg = f"{turn.id} may not move from {before} to {to}"
        raise IllegalMove(msg)
    turn.status = to
    turn.reason = reason
    turn.revision += 1
    if to in TERMINAL:
        turn.finished_at = change.now
    payload: dict[str, JsonValue] = {
        "from": before.value,
        "to": to.value,
        "revision": turn.revision,
        "reason": reason.value if reason else None,
    }
    if to == TurnStatus.COMPLETED:
        payload["result"] = turn.result
    change.emit(turn.session_id, EventType.TURN_STATUS, payload, turn=turn)


def as_markdown() -> str:
    """The table as the reference page shows it."""
    rows = [f"| {start} | {end} | {why} |" for (start, end), why in LEGAL.items()]
    return "\n".join(["| From | To | When |", "| - | - | - |", *rows])
