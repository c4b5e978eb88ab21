"""Signals by name and the waits that they end (R146, R147, 4.1 row 26).

A signal of a key ends the oldest open wait for it. One that came before its wait is kept and ends
it when it opens (S25); one that nobody waited for is closed with the Turn.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.errors import Invalid
from sessions_app.contract.events import EventType
from sessions_app.contract.identity import checked_key
from sessions_app.contract.status import CallState, SignalKind, SignalStatus, WaitStatus
from sessions_app.machine import awaiting, tools
from sessions_app.models import Signal, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import WaitDraft
    from sessions_app.machine.awaiting import Awaiting
    from sessions_app.machine.change import Change
    from sessions_app.models import ToolCall

EXPIRED: Final = "EXPIRED"
BAD_KEY: Final = "INVALID_KEY"


def admit(
    change: Change, rows: Awaiting, request_id: str, key: str, content: JsonValue
) -> tuple[Signal, bool]:
    """Take a signal in; the second part says whether a wait was open for it."""
    signal = _signal(change, rows, request_id, key, {"key": key, "content": content})
    payload: dict[str, JsonValue] = {
        "signalId": signal.id,
        "requestId": request_id,
        "kind": "signal",
        "name": key,
    }
    change.emit(rows.session.id, EventType.SIGNAL_ADMITTED, payload, turn=rows.turn)
    wait = next((wait for wait in rows.open_waits() if wait.key == key), None)
    if wait is not None:
        _match(change, rows, wait, signal)
    return signal, wait is not None


def open_for(change: Change, rows: Awaiting, call: ToolCall) -> None:
    """Open the wait of a call on the signal route; its end settles the call.

    The key is the binding's target, followed by the values of the arguments by their names: the
    order in which a model wrote them is kept nowhere.
    """
    named = sorted((call.arguments or {}).items())
    words = [call.binding.get("target"), *(word for _, word in named)]
    try:
        key = checked_key(".".join(str(word) for word in words))
    except Invalid as error:
        _settle(change, rows, call, CallState.FAILED, {"code": BAD_KEY}, str(error))
        return
    seconds = call.binding.get("deadline")
    until = None if seconds is None else change.now + timedelta(seconds=float(seconds))
    _open(change, rows, key, until, call)


def open_all(change: Change, rows: Awaiting, drafts: Sequence[WaitDraft]) -> None:
    """Open the wait conditions of an adapter; one that is open for its key stays as it is."""
    known = {wait.key for wait in rows.open_waits() if wait.call_id is None}
    for draft in drafts:
        key = checked_key(draft.key)
        if key not in known:
            until = draft.deadline_ms or None
            moment = until and datetime.fromtimestamp(until / 1000, tz=UTC)
            _open(change, rows, key, moment or None, None)


def expire(change: Change, rows: Awaiting) -> None:
    """End the waits whose deadline has passed: the call fails, or the adapter reads of it."""
    for wait in rows.open_waits():
        if wait.deadline_at is None or wait.deadline_at > change.now:
            continue
        call = rows.call(wait.call_id)
        if call is not None:
            text = f"No signal {wait.key} came in time."
            _settle(change, rows, call, CallState.FAILED, {"code": EXPIRED}, text)
        else:
            content: JsonValue = {"key": wait.key, "expired": True}
            wait.signal = _signal(change, rows, f"deadline:{wait.id}", wait.key, content)
            wait.signal.status = SignalStatus.PENDING
        _end(change, rows, wait, WaitStatus.EXPIRED)


def close_waits(change: Change, rows: Awaiting) -> None:
    """Nothing is waited for any more."""
    for wait in rows.open_waits():
        _end(change, rows, wait, WaitStatus.CLOSED)


def _signal(
    change: Change, rows: Awaiting, request_id: str, key: str, content: JsonValue
) -> Signal:
    rows.session.last_ordinal += 1
    signal = Signal(
        id=change.new_id("sig_"),
        session=rows.session,
        turn=rows.turn,
        ordinal=rows.session.last_ordinal,
        kind=SignalKind.EXTERNAL,
        name=key,
        request_id=request_id,
        content=content,
        status=SignalStatus.KEPT,
        at=change.now,
    )
    change.add(signal)
    rows.signals.append(signal)
    return signal


def _open(
    change: Change, rows: Awaiting, key: str, until: datetime | None, call: ToolCall | None
) -> None:
    wait = Wait(
        id=change.new_id("wait_"),
        session=rows.session,
        turn=rows.turn,
        call=call,
        key=key,
        deadline_at=until,
        opened_at=change.now,
    )
    change.add(wait)
    rows.waits.append(wait)
    payload: dict[str, JsonValue] = {
        "waitId": wait.id,
        "key": key,
        "deadline": until.isoformat() if until else None,
        "executionId": call.id if call else None,
    }
    change.emit(rows.session.id, EventType.WAIT_OPENED, payload, turn=rows.turn)
    kept = (signal for signal in rows.signals if signal.status == SignalStatus.KEPT)
    signal = next((signal for signal in kept if signal.name == key), None)
    if signal is not None:
        _match(change, rows, wait, signal)
    else:
        awaiting.lower(rows.turn, until)


def _match(change: Change, rows: Awaiting, wait: Wait, signal: Signal) -> None:
    """The signal ends the wait: it settles the call, or waits for the adapter's next boundary."""
    wait.signal = signal
    call = rows.call(wait.call_id)
    if call is None:
        signal.status = SignalStatus.PENDING
    else:
        _settle(change, rows, call, CallState.COMPLETED, signal.content["content"], None)
        signal.status = SignalStatus.APPLIED
        signal.applied_position = rows.thread.journal_position
        signal.ended_at = change.now
        payload: dict[str, JsonValue] = {
            "signalId": signal.id,
            "requestId": signal.request_id,
            "executionId": call.id,
        }
        change.emit(rows.session.id, EventType.SIGNAL_APPLIED, payload, turn=rows.turn)
    _end(change, rows, wait, WaitStatus.SIGNALLED)


def _settle(
    change: Change,
    rows: Awaiting,
    call: ToolCall,
    state: CallState,
    content: JsonValue,
    text: str | None,
) -> None:
    code = content["code"] if text is not None and isinstance(content, dict) else None
    draft = ResultDraft(
        execution_id=call.id,
        state=state,
        content=content,
        error_code=None if code is None else str(code),
        error_text=text,
    )
    tools.settle(change, rows.turn, call, draft)


def _end(change: Change, rows: Awaiting, wait: Wait, status: WaitStatus) -> None:
    wait.status = status
    wait.ended_at = change.now
    payload: dict[str, JsonValue] = {
        "waitId": wait.id,
        "key": wait.key,
        "status": status.value,
        "signalId": wait.signal_id,
    }
    change.emit(rows.session.id, EventType.WAIT_ENDED, payload, turn=rows.turn)
