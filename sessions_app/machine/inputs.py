"""Inputs to a Turn: a steer or an inject is admitted, applied, withdrawn, or closed by its end.

Each of the four is a row and an event. Applying belongs to the owner's commit (`recording.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Closed, Conflict
from sessions_app.contract.events import EventType
from sessions_app.contract.status import SignalKind, SignalStatus
from sessions_app.machine.control_table import Operation, permit
from sessions_app.machine.messages import user_message
from sessions_app.machine.receipts import Admitted
from sessions_app.models import Signal

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.content import UserInput
    from sessions_app.machine.change import Change
    from sessions_app.models import Turn

KINDS: Final = {Operation.STEER: SignalKind.STEER, Operation.INJECT: SignalKind.INJECT}


def give(
    change: Change, turn: Turn, operation: Operation, request_id: str, content: UserInput
) -> Admitted:
    """Admit a steer or inject, with its public message (R038, R040)."""
    permit(operation, turn)
    turn.session.last_ordinal += 1
    signal = Signal(
        id=change.new_id("sig_"),
        session=turn.session,
        turn=turn,
        ordinal=turn.session.last_ordinal,
        kind=KINDS[operation],
        request_id=request_id,
        content=content.wire(),
        at=change.now,
    )
    change.add(signal)
    _emit(change, EventType.SIGNAL_ADMITTED, turn, signal, kind=operation.value)
    user_message(change, turn, content, operation.value, request_id, ordinal=signal.ordinal)
    return Admitted(subject=signal.id)


def withdraw(change: Change, turn: Turn, signal: Signal) -> Admitted:
    """Take an input back before it was applied; a second time changes nothing (R041).

    Raises Conflict with the place where it was applied, Closed when the Turn has ended.
    """
    if signal.status == SignalStatus.APPLIED:
        error = Closed if turn.is_terminal else Conflict
        msg = (
            f"input {signal.id} was applied at position {signal.applied_position} of turn "
            f"{turn.id} and cannot be withdrawn; steer the turn again"
        )
        raise error(msg)
    permit(Operation.WITHDRAW, turn)
    if signal.status == SignalStatus.PENDING:
        _end(change, EventType.SIGNAL_WITHDRAWN, turn, signal, SignalStatus.WITHDRAWN)
    return Admitted(SignalStatus.WITHDRAWN.lower(), signal.id)


def close(change: Change, turn: Turn, signal: Signal) -> None:
    """The Turn ended before the input was applied."""
    _end(change, EventType.SIGNAL_CLOSED, turn, signal, SignalStatus.CLOSED)


def _end(
    change: Change, event: EventType, turn: Turn, signal: Signal, status: SignalStatus
) -> None:
    signal.status = status
    signal.ended_at = change.now
    _emit(change, event, turn, signal)


def _emit(change: Change, event: EventType, turn: Turn, signal: Signal, **more: JsonValue) -> None:
    payload = {"signalId": signal.id, "requestId": signal.request_id, **more}
    change.emit(turn.session_id, event, payload, turn=turn)
