"""External calls: what is sent for one and when, and what an update from Hands changes in it.

The prefix rule in one sentence: an update counts if its sequence is the next of its execution, an
earlier one is a repeat without effect, and a later one waits until the gap is filled (I30, R189).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from hands_app.contract.errors import InvalidJson
from hands_app.contract.messages import ExecutionState, UpdateKind
from hands_app.contract.strict_json import Limits, canonical
from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.events import EventType
from sessions_app.contract.status import SETTLED_CALLS, CallState
from sessions_app.machine import awaiting, tools

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.messages import ExecutionResult, Update
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.machine.change import Change
    from sessions_app.models import Thread, ToolCall, Turn

Sent: TypeAlias = Literal["execute", "cancel", "query"]
Taken: TypeAlias = Literal["applied", "duplicate", "gap", "late", "refused"]

AGAIN: Final = timedelta(seconds=5)
"""Until an unconfirmed command is sent again and admitted work is asked about (R182)."""
SLOWEST: Final = timedelta(minutes=1)
SLOWEST_IN_DOUBT: Final = timedelta(minutes=5)
PART_OF_AGE: Final = 12
NOT_AFTER: Final = timedelta(minutes=15)
"""Hands starts nothing later than this after the last sending (S8)."""

_PROGRESS: Final = Limits(bytes=16 * 1024, depth=20, keys=500)
_MESSAGE_LENGTH: Final = 2000
_OPEN: Final = frozenset({CallState.INTENDED, CallState.STARTED})
_LOST: Final = "the ledger that had admitted it does not know it any more"
_WENT_BACK: Final = "the ledger went back to an earlier state and told of another end"


@dataclass(slots=True)
class Received:
    """A call with its Turn and Thread, under the Session's lock.

    `calls` are the Turn's calls that no checkpoint contains yet; only an update that may end the
    call needs them. `again` is the shortest time until it is asked about.
    """

    thread: Thread
    turn: Turn
    call: ToolCall
    calls: list[ToolCall] = field(default_factory=list)
    again: timedelta = AGAIN


def deliver(call: ToolCall, now: datetime, again: timedelta = AGAIN) -> Sent:
    """Say what to send for the call now; from here on it may be under way (S9).

    A command goes out only until its admission is confirmed; after that the call is asked about,
    never commanded again (S8).
    """
    sent = _what(call)
    call.deliveries += 1
    call.dispatched_at = call.dispatched_at or now
    call.deliver_at = next_look(call, now, again)
    if sent == "execute":
        call.not_after = now + NOT_AFTER
    return sent


def _what(call: ToolCall) -> Sent:
    if call.state == CallState.UNKNOWN:
        return "query"
    if _cancel_is_unanswered(call):
        return "cancel"
    return "query" if call.admitted_at is not None else "execute"


def next_look(call: ToolCall, now: datetime, again: timedelta = AGAIN) -> datetime:
    """When to send or ask again: after `again` at first, then a twelfth of its age (R182, S20).

    A cancel that nobody answered has an age of its own: that of an old call is not left alone.
    """
    slowest = SLOWEST_IN_DOUBT if call.state == CallState.UNKNOWN else SLOWEST
    since = call.cancel_requested_at if _cancel_is_unanswered(call) else None
    age = now - (since or call.intended_at)
    return now + min(max(again, age / PART_OF_AGE), max(again, slowest))


def _cancel_is_unanswered(call: ToolCall) -> bool:
    """Whether Hands was asked to stop it and has neither accepted that nor told of its end."""
    asked = call.cancel_requested_at is not None and call.cancel_accepted_at is None
    return asked and call.state in _OPEN


def cannot_send(change: Change, rows: Received, code: str, text: str) -> bool:
    """End a call whose command cannot even be written down; False when one may have left before."""
    call = rows.call
    if call.state != CallState.INTENDED or call.deliveries > 1 or call.inbox_position:
        return False
    draft = ResultDraft(
        execution_id=call.id, state=CallState.NOT_EXECUTED, error_code=code, error_text=text
    )
    change.touch(rows.thread)
    tools.settle(change, rows.turn, call, draft)
    return True


def owns(call: ToolCall, update: Update) -> bool:
    """Whether the update comes from the pool that was asked, about the very request (T23)."""
    same = (call.route, call.request_digest) == (update.route, update.request_digest)
    return same and may_be_sent(call)


def may_be_sent(call: ToolCall) -> bool:
    """Whether it may have left: from its commit on, unless a person has to allow it first (S9)."""
    return call.deliver_at is not None or call.dispatched_at is not None


def is_repeat(call: ToolCall, update: Update) -> bool:
    """Whether the update says nothing new; so it stays, whatever happens to the call meanwhile."""
    if call.state not in _OPEN:
        return update.sequence <= call.inbox_position
    if update.kind is UpdateKind.UNKNOWN_EXECUTION:
        return call.admitted_at is None
    return update.sequence <= call.inbox_position and update.kind is not UpdateKind.RESULT


def take(change: Change, rows: Received, update: Update) -> Taken:
    """Apply one update; raises InvalidEnvelope for a result that cannot be read."""
    call = rows.call
    if not owns(call, update):
        return "refused"
    if update.sequence > call.inbox_position + 1:
        return "gap"
    if update.sequence <= call.inbox_position:
        return _again(change, rows, update)
    call.inbox_position = update.sequence
    if call.state in SETTLED_CALLS:
        return "late"
    _apply(change, rows, update)
    return "applied"


def _again(change: Change, rows: Received, update: Update) -> Taken:
    """A repeat says nothing new, unless it shows that the ledger lost what it had told (S8)."""
    if is_repeat(rows.call, update):
        return "duplicate"
    not_known = update.kind is UpdateKind.UNKNOWN_EXECUTION
    _doubt(change, rows, _LOST if not_known else _WENT_BACK)
    return "applied"


def _apply(change: Change, rows: Received, update: Update) -> None:
    """Do what an update of an unsettled call says, and put off the next question."""
    call = rows.call
    match update.kind:
        case UpdateKind.OUTPUT:
            _output(change, rows, update.payload)
        case UpdateKind.ADMITTED | UpdateKind.OBSERVED:
            pass  # what was observed of an ended execution is kept for a call that has ended
        case UpdateKind.STARTED:
            _started(change, rows)
        case UpdateKind.PROGRESS:
            _progress(change, rows, update.payload)
        case UpdateKind.RESULT:
            _result(change, rows, update.result())
            return
        case UpdateKind.UNKNOWN_EXECUTION | UpdateKind.PAGE:
            return  # have the sequence 0, which no prefix is followed by
        case never:
            assert_never(never)
    call.admitted_at = call.admitted_at or change.now
    if not _cancel_is_unanswered(call):  # else signs of life would put its cancel off for ever
        call.deliver_at = next_look(call, change.now, rows.again)


def _started(change: Change, rows: Received) -> None:
    call = rows.call
    call.attempts += 1
    call.started_at = call.started_at or change.now
    if call.state == CallState.INTENDED:
        call.state = CallState.STARTED
    _emit(change, rows, EventType.TOOL_STARTED, {"attempt": call.attempts})


def _progress(change: Change, rows: Received, payload: dict[str, JsonValue]) -> None:
    if payload.get("cancel") == "accepted":
        if rows.call.cancel_accepted_at is None:
            rows.call.cancel_accepted_at = change.now
            _emit(change, rows, EventType.TOOL_CANCEL_ACCEPTED, {})
        return
    rows.call.progress = _bounded(payload)
    _emit(change, rows, EventType.TOOL_PROGRESS, {"progress": rows.call.progress})


def _output(change: Change, rows: Received, payload: dict[str, JsonValue]) -> None:
    """Note how much can be read; what it says stays where it is (law 10)."""
    call, available = rows.call, payload.get("available")
    if isinstance(available, int) and available > call.output_bytes:
        call.output_bytes = available
    call.output_sealed = call.output_sealed or payload.get("sealed") is True
    facts: dict[str, JsonValue] = {"bytes": call.output_bytes, "sealed": call.output_sealed}
    _emit(change, rows, EventType.TOOL_OUTPUT, facts)


def _bounded(payload: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The payload, or the beginning of its message where the whole is too large to be an event."""
    try:
        canonical(payload, limits=_PROGRESS)
    except InvalidJson:
        return {"message": str(payload.get("message", ""))[:_MESSAGE_LENGTH], "cut": True}
    return payload


def _emit(change: Change, rows: Received, kind: EventType, facts: dict[str, JsonValue]) -> None:
    payload = {**tools.names(rows.call), **facts}
    change.emit(rows.turn.session_id, kind, payload, thread=rows.thread, turn=rows.turn)


def _result(change: Change, rows: Received, result: ExecutionResult) -> None:
    """The end of the call, or its doubt; an end that follows a doubt resolves it (law 7)."""
    error = result.error
    if result.state is ExecutionState.UNKNOWN:
        if rows.call.state != CallState.UNKNOWN:
            _doubt(change, rows, None if error is None else error.message)
        return
    end(change, rows, result)


def end(change: Change, rows: Received, result: ExecutionResult) -> None:
    """Settle the call with an outcome from outside; a Turn that waits says for what it does now."""
    change.touch(rows.thread)
    tools.settle(change, rows.turn, rows.call, _draft(rows.call, result))
    rows.call.unread_code = rows.call.unread_at = None
    if result.metadata:
        rows.call.result = {**rows.call.result, "metadata": result.metadata}
    awaiting.waits_on(change, rows.turn, rows.calls)


def _draft(call: ToolCall, result: ExecutionResult) -> ResultDraft:
    """The result in the form of one that ran here: an error keeps its code as content."""
    error, content = result.error, result.content
    if error is not None and content is None:
        content = {"code": error.code}
    return ResultDraft(
        execution_id=call.id,
        state=CallState(result.state),
        content=content,
        error_code=error and error.code,
        error_text=error and error.message,
        object_ref=result.body and result.body.stored,
    )


def _doubt(change: Change, rows: Received, why: str | None) -> None:
    change.touch(rows.thread)
    tools.doubt(change, rows.turn, rows.call, why)
    rows.call.deliver_at = next_look(rows.call, change.now, rows.again)
    awaiting.waits_on(change, rows.turn, rows.calls)
