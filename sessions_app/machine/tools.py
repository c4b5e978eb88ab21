"""Tool calls: start record, result and application, each a fact of its own (R080, S9, S10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import EffectClass
from hands_app.contract.strict_json import JsonValue, digest
from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.errors import OutcomeUnknown, OwnershipLost
from sessions_app.contract.events import EventType
from sessions_app.contract.status import SETTLED_CALLS, CallState
from sessions_app.machine import awaiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.machine.change import Change
    from sessions_app.machine.settling import Invocation
    from sessions_app.models import ToolCall, Turn


ABANDONED: Final = "ABANDONED"
"""Error code of a call that began and was not repeated, though that would have been safe."""


def origin(call: ToolCall) -> dict[str, JsonValue]:
    """Who made the call, under the wire names of the contract between the houses (R176)."""
    return {
        "namespace": call.session.namespace,
        "sessionId": call.session.session_id,
        "threadId": call.thread.thread_id,
        "turnId": call.turn_id,
        "runId": call.origin_run,
        "stepId": call.origin_step,
        "scope": call.session_id,
    }


def request_digest(call: ToolCall) -> str:
    """What both houses compare (I34): `messages.request_digest` of the contract, from the row."""
    return digest([call.id, digest(call.binding), call.arguments, origin(call)])


def names(call: ToolCall) -> dict[str, JsonValue]:
    """How public events name a call."""
    return {
        "callId": call.call_id,
        "executionId": call.id,
        "name": call.name,
        "round": call.round,
        "ordinal": call.ordinal,
    }


def start(change: Change, rows: Invocation, ids: Sequence[str]) -> None:
    """Make start records.

    Without one no effect, and without one a call never becomes UNKNOWN (S10). None is made once a
    cancel is recorded; the owner is told which were.
    """
    for call in _named(rows, ids):
        if rows.turn.cancel_request is None:
            start_one(change, rows, call)


def start_one(change: Change, rows: Invocation, call: ToolCall) -> None:
    """Make one start record; a gated call begins under the approval that this uses up (I35)."""
    if call.allowed_at is None:
        msg = f"{call.id} was not allowed to begin"
        raise OwnershipLost(msg)
    awaiting.consumed(change, rows, call)
    call.state = CallState.STARTED
    call.attempts += 1
    call.start_token = rows.run.token
    call.started_at = call.started_at or change.now
    payload: dict[str, JsonValue] = {**names(call), "attempt": call.attempts}
    change.emit(rows.session.id, EventType.TOOL_STARTED, payload, turn=rows.turn, run=rows.run.id)


def results(change: Change, rows: Invocation, drafts: Sequence[ResultDraft]) -> None:
    """Store outcomes of calls that ran here.

    A call that is settled keeps its first result (I30).
    """
    for draft in drafts:
        (call,) = _named(rows, [draft.execution_id])
        if call.state in SETTLED_CALLS:
            continue
        if call.start_token != rows.run.token and draft.state in {
            CallState.COMPLETED,
            CallState.FAILED,
        }:
            msg = f"{call.id} has no start record of this lease"
            raise OwnershipLost(msg)
        if draft.state == CallState.UNKNOWN:
            doubt(change, rows.turn, call, draft.error_text, run=rows.run.id)
        else:
            settle(change, rows.turn, call, draft, run=rows.run.id)


def doubt(
    change: Change, turn: Turn, call: ToolCall, why: str | None, *, run: str | None = None
) -> None:
    """Nobody can say how the call ended: UNKNOWN until there is evidence, and no result (law 7)."""
    call.state = CallState.UNKNOWN
    call.error_code = OutcomeUnknown.code
    call.result = {"content": None, "errorText": why}
    change.emit(turn.session_id, EventType.TOOL_UNKNOWN, names(call), turn=turn, run=run)


def settle(
    change: Change, turn: Turn, call: ToolCall, draft: ResultDraft, *, run: str | None = None
) -> None:
    """The call has ended; application is a later fact."""
    call.state = draft.state
    call.received_at = change.now
    call.deliver_at = None
    call.error_code = draft.error_code
    call.result = {"content": draft.content, "errorText": draft.error_text}
    call.result_ref = draft.object_ref
    payload: dict[str, JsonValue] = {
        **names(call),
        "state": draft.state.value,
        "errorCode": draft.error_code,
        "content": draft.content,
    }
    change.emit(turn.session_id, EventType.TOOL_RESULT, payload, turn=turn, run=run)


def applied(change: Change, rows: Invocation, ids: Sequence[str]) -> None:
    """The checkpoint of this commit contains these results (I32)."""
    for call in _named(rows, ids):
        if call.applied_at is not None:
            continue
        call.applied_at = change.now
        call.applied_run = rows.run.id
        call.applied_step = rows.step.id if rows.step else None
        call.applied_position = rows.thread.checkpoint_position
        change.emit(
            rows.session.id, EventType.TOOL_APPLIED, names(call), turn=rows.turn, run=rows.run.id
        )


def abandon(
    change: Change, turn: Turn, calls: Sequence[ToolCall], *, run: str | None = None
) -> None:
    """Settle what nobody will begin or repeat any more, as the Turn is about to end.

    Without a start record a call was not executed (S10). One that began here and left no outcome
    was without effect if it only reads; one that might have been repeated is not, and that is its
    end; of another nobody knows. Possibly sent ones stay open (S9).
    """
    for call in calls:
        if call.deliver_at is not None:
            continue
        if call.state == CallState.INTENDED:
            close(change, turn, call, CallState.NOT_EXECUTED, run)
        elif call.state == CallState.STARTED and call.effect == EffectClass.READ:
            close(change, turn, call, CallState.CANCELLED, run)
        elif call.state == CallState.STARTED and call.effect == EffectClass.IDEMPOTENT:
            settle(change, turn, call, _not_repeated(call), run=run)
        elif call.state == CallState.STARTED:
            doubt(change, turn, call, "it began and left no outcome", run=run)


def _not_repeated(call: ToolCall) -> ResultDraft:
    """No UNKNOWN: whoever wants its effect may ask for it again, under any key (law 7)."""
    return ResultDraft(
        execution_id=call.id,
        state=CallState.FAILED,
        content={"code": ABANDONED},
        error_code=ABANDONED,
        error_text="It began, left no outcome and was not repeated, as its Turn ended.",
    )


def close(change: Change, turn: Turn, call: ToolCall, state: CallState, run: str | None) -> None:
    """The call ends in this state, without content."""
    settle(change, turn, call, ResultDraft(execution_id=call.id, state=state), run=run)


def request_cancel(change: Change, turn: Turn, calls: Sequence[ToolCall]) -> None:
    """Ask Hands to stop what may have been sent; only its word ends such a call (S9, R045)."""
    for call in calls:
        if call.deliver_at is not None and call.state in {CallState.INTENDED, CallState.STARTED}:
            call.deliver_at = change.now
            if call.cancel_requested_at is None:
                call.cancel_requested_at = change.now
                kind = EventType.TOOL_CANCEL_REQUESTED
                change.emit(turn.session_id, kind, names(call), turn=turn)


def _named(rows: Invocation, ids: Sequence[str]) -> list[ToolCall]:
    found = [call for call in rows.calls if call.id in ids]
    if len(found) != len(set(ids)):
        missing = sorted(set(ids) - {call.id for call in found})
        msg = f"calls {missing} are not open in {rows.turn.id}"
        raise OwnershipLost(msg)
    return found
