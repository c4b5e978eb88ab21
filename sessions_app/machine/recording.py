"""Recording: journal entries, checkpoints, model calls.

Messages and applied inputs of an owner's commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.references import digest_of
from hands_app.contract.strict_json import JsonValue, digest
from sessions_app.contract.errors import Invalid
from sessions_app.contract.events import EventType
from sessions_app.contract.status import CheckpointKind, ModelCallStatus, SignalStatus
from sessions_app.models import Checkpoint, JournalEntry, Message, ModelCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.backend import EntryDraft, FrameDraft, MessageDraft, ModelCallFacts
    from sessions_app.machine.change import Change
    from sessions_app.machine.settling import Invocation
    from sessions_app.models import Run, Turn


def entries(change: Change, rows: Invocation, drafts: Sequence[EntryDraft]) -> None:
    """Append to the journal; positions are given under the Session's lock."""
    for draft in drafts:
        rows.thread.journal_position += 1
        change.add(
            JournalEntry(
                id=change.new_id("jrn_"),
                session=rows.session,
                thread=rows.thread,
                turn=rows.turn,
                position=rows.thread.journal_position,
                kind=draft.kind,
                path=draft.path,
                ordinal=draft.ordinal,
                request_digest=draft.request_digest,
                body=draft.body,
                object_ref=draft.object_ref,
                token=rows.run.token,
                at=change.now,
            )
        )


def frame(change: Change, rows: Invocation, draft: FrameDraft, *, settled: bool) -> None:
    """Add a checkpoint that contains every entry so far. A mid-Turn frame is never called settled.

    Raises Invalid for a frame without a body: state is replaced, never thrown away (R132).
    """
    if draft.body is None and draft.object_ref is None:
        msg = f"a checkpoint of {rows.turn.id} without a body would throw its state away"
        raise Invalid(msg)
    rows.checkpoints += 1
    rows.thread.checkpoint_position = rows.thread.journal_position
    pin = rows.thread.pin
    kind = CheckpointKind.SETTLED if settled else CheckpointKind.BOUNDARY
    change.add(
        Checkpoint(
            id=change.new_id("chk_"),
            session=rows.session,
            thread=rows.thread,
            turn=rows.turn,
            ordinal=rows.checkpoints,
            position=rows.thread.journal_position,
            kind=kind,
            format=draft.format,
            harness=draft.harness,
            framework=draft.framework,
            definition=pin.name,
            version=pin.version,
            state_version=pin.state_version,
            body=draft.body,
            object_ref=draft.object_ref,
            digest=digest(draft.body) if draft.object_ref is None else digest_of(draft.object_ref),
            token=rows.run.token,
            at=change.now,
        )
    )


def model_calls(change: Change, rows: Invocation, facts: Sequence[ModelCallFacts]) -> None:
    """One row for each logical request; replay brings none, so nothing is counted twice (R065)."""
    for seen in facts:
        key = (seen.path, seen.ordinal)
        rows.attempts[key] = rows.attempts.get(key, 0) + 1
        observed = seen.model_dump(exclude={"status", "model", *_unbelievable(seen)})
        call = ModelCall(
            id=change.new_id("call_"),
            run=rows.run,
            step=rows.step,
            turn=rows.turn,
            attempt=rows.attempts[key],
            status=seen.status,
            model=seen.model[:200],
            at=change.now,
            **observed,
        )
        change.add(call)
        _count(rows.turn, seen)
        if seen.status == ModelCallStatus.LOST:
            lost(change, rows.turn, rows.run, call)
    if facts:
        _publish_usage(change, rows)


def _publish_usage(change: Change, rows: Invocation) -> None:
    turn = rows.turn
    payload: dict[str, JsonValue] = {
        "requests": turn.requests,
        "inputTokens": turn.input_tokens,
        "outputTokens": turn.output_tokens,
        "complete": turn.usage_complete,
        "rounds": turn.rounds,
    }
    change.emit(rows.session.id, EventType.TURN_USAGE, payload, turn=turn, run=rows.run.id)


def lost(change: Change, turn: Turn, run: Run, call: ModelCall) -> None:
    """Say that nobody heard the answer to a request; its counts stay unknown for ever (R068)."""
    turn.usage_complete = False
    payload: dict[str, JsonValue] = {
        "modelCallId": call.id,
        "ordinal": call.ordinal,
        "attempt": call.attempt,
    }
    change.emit(turn.session_id, EventType.MODEL_CALL_LOST, payload, turn=turn, run=run.id)


def _unbelievable(seen: ModelCallFacts) -> set[str]:
    """Details that are no part of their total: they stay unknown (R066)."""
    pairs = {"cached_tokens": seen.input_tokens, "reasoning_tokens": seen.output_tokens}
    return {
        detail
        for detail, total in pairs.items()
        if (part := getattr(seen, detail)) is not None and (total is None or part > total)
    }


def _count(turn: Turn, seen: ModelCallFacts) -> None:
    turn.requests += seen.requests or 0
    if seen.input_tokens is None or seen.output_tokens is None:
        turn.usage_complete = False
    turn.input_tokens = _sum(turn.input_tokens, seen.input_tokens)
    turn.output_tokens = _sum(turn.output_tokens, seen.output_tokens)
    if seen.path == "main" and seen.status == "COMPLETED":
        turn.rounds += 1


def _sum(total: int | None, part: int | None) -> int | None:
    """Sum of what is known; None while nothing is."""
    return total if part is None else part + (total or 0)


def messages(change: Change, rows: Invocation, drafts: Sequence[MessageDraft]) -> None:
    """Completed public parts; they replace whatever was told of the same message before (R073)."""
    for draft in drafts:
        message = rows.said.get(draft.ordinal) or _message(change, rows, draft)
        if draft.ordinal in rows.said:
            message.revision += 1
        message.attempt = rows.attempts.get(("main", draft.ordinal), 1)
        message.run_id = rows.run.id
        message.parts = list(draft.parts)
        payload: dict[str, JsonValue] = {
            "messageId": message.id,
            "role": message.role,
            "attempt": message.attempt,
            "revision": message.revision,
            "parts": message.parts,
        }
        change.emit(
            rows.session.id, EventType.MESSAGE_COMPLETED, payload, turn=rows.turn, run=rows.run.id
        )


def _message(change: Change, rows: Invocation, draft: MessageDraft) -> Message:
    """A logical message that was never completed; its id stays when the Run changes (R072).

    Asking the model again raises its attempt. A replay asks nobody: it completes, as the next
    revision, the text of which an earlier Run may have shown previews.
    """
    message = Message(
        id=f"msg_{rows.turn.id.removeprefix('turn_')}.{draft.ordinal}",
        session=rows.session,
        thread=rows.thread,
        turn=rows.turn,
        role="assistant",
        ordinal=draft.ordinal,
        revision=2 if draft.replayed else 1,
        sequence=rows.session.last_sequence + change.events_of(rows.session.id) + 1,
        at=change.now,
    )
    change.add(message)
    return message


def inputs_applied(change: Change, rows: Invocation, signal_ids: Sequence[str]) -> None:
    """Say where an input went in; only pending ones can be applied (S12)."""
    for signal in rows.signals:
        if signal.id in signal_ids and signal.status == SignalStatus.PENDING:
            signal.status = SignalStatus.APPLIED
            signal.applied_position = rows.thread.journal_position
            signal.applied_run = rows.run.id
            signal.ended_at = change.now
            payload: dict[str, JsonValue] = {"signalId": signal.id, "requestId": signal.request_id}
            change.emit(
                rows.session.id, EventType.SIGNAL_APPLIED, payload, turn=rows.turn, run=rows.run.id
            )
