"""What an invocation knows of its Turn: loaded once, kept current by the answers to its commits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import EffectClass
from sessions_app.brain.failure import Diverged
from sessions_app.contract.backend import CallFacts, Go
from sessions_app.contract.status import SETTLED_CALLS, CallState, EntryKind, StepPhase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.boundary import Buffer
    from sessions_app.contract.backend import (
        Commit,
        Committed,
        Entry,
        IntentDraft,
        ModelCallFacts,
        Native,
        PendingInput,
        ResultDraft,
    )

MAIN: Final = "main"
REPEATABLE: Final = frozenset({EffectClass.READ.value, EffectClass.IDEMPOTENT.value})


class Observation:
    """Calls, inputs, wishes of people, rounds and the phase, as of the newest commit."""

    def __init__(self, native: Native) -> None:
        """Begin with what was loaded."""
        self.calls = {call.execution_id: call for call in native.calls}
        self.inputs: tuple[PendingInput, ...] = native.inputs
        self.rounds = native.rounds
        self.tokens = native.tokens
        self.cancel = native.cancel
        self.pause = native.pause
        self.phase = _first_phase(native)
        self.started: set[str] = set()
        """Calls with a start record of this lease and no outcome yet."""
        self.begun: set[str] = set()
        """Those of them whose body has begun."""

    def next_phase(self, buffer: Buffer) -> StepPhase | None:
        """The Step after the next commit: tools after intents, reasoning after the last result."""
        if buffer.intents:
            return StepPhase.TOOL
        applied = set(buffer.applied)
        if applied and all(call.applied or call.execution_id in applied for call in self._all()):
            return StepPhase.REASONING
        return None

    def absorb(self, change: Commit, answer: Committed) -> None:
        """Take in a commit that stands."""
        answered = [call for call in change.model_calls if call.status == "COMPLETED"]
        self.rounds += sum(call.path == MAIN for call in answered)
        self.tokens += sum(map(tokens, change.model_calls))
        self.inputs = answer.inputs
        self.cancel, self.pause = answer.cancel, answer.pause
        self._note_phase(change)
        for intent in change.intents:
            execution_id = answer.execution_ids.get(f"{intent.call_id}:{intent.ordinal}")
            if execution_id is not None:  # none is stored once a cancel is recorded
                self._intended(intent, execution_id)
        for execution_id in answer.started:
            self._started(execution_id)
        for result in change.results:
            self._settled(result)
        for execution_id in change.applied:
            self.calls[execution_id] = replace(self.calls[execution_id], applied=True)

    def call(self, call_id: str, ordinal: int, round_: int) -> CallFacts | None:
        """The call at this place of this round."""
        wanted = (call_id, ordinal, round_)
        found = (c for c in self._all() if (c.call_id, c.ordinal, c.round) == wanted)
        return next(found, None)

    def unrepeatable(self) -> list[CallFacts]:
        """Started calls without an outcome whose effect must not be repeated (law 7)."""
        open_calls = (self.calls[execution_id] for execution_id in sorted(self.started))
        return [call for call in open_calls if call.effect not in REPEATABLE]

    def _all(self) -> list[CallFacts]:
        return list(self.calls.values())

    def _note_phase(self, change: Commit) -> None:
        """The store's own rule: an answered request never leaves its REASONING Step open."""
        if not isinstance(change.end, Go):
            return
        answered = any(c.path == MAIN and c.status == "COMPLETED" for c in change.model_calls)
        if change.end.phase is not None:
            self.phase = change.end.phase
        elif answered:
            self.phase = StepPhase.FINALIZATION

    def _intended(self, intent: IntentDraft, execution_id: str) -> None:
        self.calls[execution_id] = CallFacts(
            execution_id=execution_id,
            call_id=intent.call_id,
            ordinal=intent.ordinal,
            round=self.rounds,
            name=intent.name,
            arguments=intent.arguments,
            route=intent.route,
            effect=intent.effect,
            state=CallState.INTENDED,
            started=False,
            allowed=not intent.needs_approval,
        )

    def _started(self, execution_id: str) -> None:
        call = self.calls[execution_id]
        self.calls[execution_id] = replace(call, state=CallState.STARTED, started=True)
        self.started.add(execution_id)

    def _settled(self, result: ResultDraft) -> None:
        call = self.calls[result.execution_id]
        self.started.discard(result.execution_id)
        self.begun.discard(result.execution_id)
        if call.state in SETTLED_CALLS:
            return
        stored = {"content": result.content, "errorText": result.error_text}
        self.calls[result.execution_id] = replace(call, state=result.state, result=stored)


def foreseen(native: Native, results: Sequence[ResultDraft]) -> Native:
    """What is stored, with results that are about to be; a call that is settled keeps its own."""
    told = {draft.execution_id: draft for draft in results}
    return replace(native, calls=tuple(_told(call, told) for call in native.calls))


def _told(call: CallFacts, results: Mapping[str, ResultDraft]) -> CallFacts:
    draft = results.get(call.execution_id)
    if draft is None or call.state in SETTLED_CALLS:
        return call
    stored: JsonValue = {"content": draft.content, "errorText": draft.error_text}
    return replace(call, state=draft.state, result=stored)


def tokens(call: ModelCallFacts) -> int:
    """Known tokens of one request."""
    return (call.input_tokens or 0) + (call.output_tokens or 0)


class Outcomes:
    """Stored model outcomes of the Turn, by path and ordinal; replayed, never asked again."""

    def __init__(self, native: Native, turn_id: str) -> None:
        """Know the Turn's own outcomes only."""
        position = native.frame.position if native.frame is not None else 0
        self._stored = {
            (entry.path, entry.ordinal): entry
            for entry in native.entries
            if entry.kind is EntryKind.OUTCOME and entry.turn_id == turn_id
        }
        self._ahead = {
            key
            for key, entry in self._stored.items()
            if entry.position > position and key[0] == MAIN
        }

    @property
    def replaying(self) -> bool:
        """True while the main loop has stored outcomes that it did not yet come to (S11)."""
        return bool(self._ahead)

    def find(self, path: str, ordinal: int, request_digest: str) -> Entry | None:
        """The stored outcome, or None; raises Diverged when it answered another request."""
        entry = self._stored.get((path, ordinal))
        if entry is None:
            return None
        if entry.request_digest != request_digest:
            msg = (
                f"request {ordinal} of path {path} has digest {request_digest}, its stored outcome"
                f" answered {entry.request_digest}; the agent or its framework changed"
            )
            raise Diverged(msg)
        self._ahead.discard((path, ordinal))
        return entry


def _first_phase(native: Native) -> StepPhase:
    """The phase that a claim begins with, by the store's rule."""
    position = native.frame.position if native.frame is not None else 0
    if any(not call.applied for call in native.calls):
        return StepPhase.TOOL
    if any(entry.position > position for entry in native.entries):
        return StepPhase.FINALIZATION
    return StepPhase.REASONING
