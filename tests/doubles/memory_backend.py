"""One Thread in memory: what the store promises to an owner, without a database.

It is for the decisions of harness adapters: a commit is all or nothing, values travel as JSON,
calls and outcomes are stored once. Leases, events and races belong to the store's own tests.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hands_app.contract.ids import execution_id, new_id
from hands_app.contract.strict_json import JsonValue, digest
from sessions_app.brain.observation import tokens
from sessions_app.contract.backend import (
    CallFacts,
    Claim,
    Commit,
    CommitAnswer,
    Committed,
    Entry,
    Fail,
    Finish,
    Frame,
    FrameDraft,
    Go,
    HandOver,
    IntentDraft,
    Lost,
    MessageDraft,
    ModelCallFacts,
    Native,
    Park,
    PendingInput,
    ResultDraft,
)
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import OwnershipLost
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.status import (
    SETTLED_CALLS,
    CallState,
    CheckpointKind,
    EntryKind,
    SignalKind,
)
from sessions_app.harnesses.calls import IN_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REPEATABLE = frozenset({"read", "idempotent"})


@dataclass
class MemoryTurn:
    """One Turn: its input, and what was said, counted and decided."""

    id: str
    input: JsonValue
    calls: dict[str, CallFacts] = field(default_factory=dict)
    inputs: list[PendingInput] = field(default_factory=list)
    applied_inputs: list[str] = field(default_factory=list)
    messages: list[MessageDraft] = field(default_factory=list)
    model_calls: list[ModelCallFacts] = field(default_factory=list)
    rounds: int = 0
    status: str = "QUEUED"
    result: JsonValue = None
    cancel: bool = False
    pause: bool = False
    failures: list[str] = field(default_factory=list)


class MemoryBackend:
    """The Thread. `gate` is called as `gate("before" | "after", number)` around each commit."""

    def __init__(
        self, definition: DefinitionKey, gate: Callable[[str, int], None] | None = None
    ) -> None:
        self.key = SessionKey("test", "s").thread()
        self.definition = definition
        self.turns: list[MemoryTurn] = []
        self.entries: list[Entry] = []
        self.frames: list[Frame] = []
        self.token: str | None = None
        self.commits = 0
        self.round_limit = 50
        self.token_limit: int | None = None
        self._gate = gate or (lambda _side, _number: None)

    @property
    def turn(self) -> MemoryTurn:
        """The newest Turn."""
        return self.turns[-1]

    def submit(self, text: str) -> MemoryTurn:
        """Admit a Turn."""
        self.turns.append(MemoryTurn(new_id("turn_"), user_input(text).wire()))
        return self.turn

    def steer(self, text: str, kind: SignalKind = SignalKind.STEER) -> PendingInput:
        """Admit an input to the running Turn."""
        given = PendingInput(new_id("sig_"), kind, text, user_input(text).wire())
        self.turn.inputs.append(given)
        return given

    def deliver(
        self, name: str, content: JsonValue, state: CallState = CallState.COMPLETED
    ) -> None:
        """Bring the result of open external calls; one that is settled keeps its first (I30)."""
        for call in list(self.turn.calls.values()):
            if call.name == name and call.state not in SETTLED_CALLS:
                self._settle(
                    ResultDraft(execution_id=call.execution_id, state=state, content=content)
                )

    def refuse(self, name: str) -> None:
        """A person's answer to a gated call."""
        self.deliver(name, None, CallState.DENIED)

    def cancel(self) -> None:
        """Ask for the Turn to be cancelled; its owner hears of it at its next commit."""
        self.turn.cancel = True

    def claim(self, *, died: bool = False) -> Claim:
        """Give the Thread to a new owner. After a death started `once` calls are UNKNOWN."""
        if died:
            for call in self.turn.calls.values():
                if call.state is CallState.STARTED and call.route in IN_PROCESS:
                    self._judge(call)
        self.token = new_id("tok_")
        self.turn.status = "RUNNING"
        return Claim(
            thread_pk="thread",
            session_pk="session",
            turn_id=self.turn.id,
            run_id=new_id("run_"),
            token=self.token,
            key=self.key,
            definition=self.definition,
            lease_expires_at=datetime.now(UTC),
            takeover=died,
            settling=self.turn.cancel,
        )

    def load(self, claim: Claim) -> Native:
        """Read what an adapter needs; raises OwnershipLost for another token."""
        if claim.token != self.token:
            raise OwnershipLost
        return Native(
            turn_input=self.turn.input,
            frame=self.frames[-1] if self.frames else None,
            entries=tuple(self.entries),
            calls=tuple(self.turn.calls.values()),
            inputs=tuple(self.turn.inputs),
            rounds=self.turn.rounds,
            round_limit=self.round_limit,
            tokens=sum(map(tokens, self.turn.model_calls)),
            token_limit=self.token_limit,
        )

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Apply one change whole, or not at all."""
        self._gate("before", self.commits)
        if claim.token != self.token:
            return Lost()
        self.commits += 1
        change = Commit.model_validate_json(change.model_dump_json())
        went_on = isinstance(change.end, Finish) and self._has_steer()
        self._record(change)
        self._end(change, went_on=went_on)
        self._gate("after", self.commits - 1)
        return Committed(
            position=len(self.entries),
            last_sequence=self.commits,
            inputs=tuple(self.turn.inputs),
            execution_ids={f"{c.call_id}:{c.ordinal}": c.execution_id for c in self._newest()},
            started=tuple(
                c.execution_id
                for c in self._newest()
                if c.state is CallState.STARTED and c.route in IN_PROCESS
            ),
            went_on=went_on,
            cancel=self.turn.cancel,
            pause=self.turn.pause,
        )

    def _record(self, change: Commit) -> None:
        for draft in change.entries:
            self._append(draft.kind, draft.body, draft.path, draft.ordinal, draft.request_digest)
        for seen in change.model_calls:
            self.turn.rounds += seen.path == "main" and seen.status == "COMPLETED"
            self.turn.model_calls.append(seen)
        self._say(change.messages)
        for result in change.results:
            self._settle(result)
        for signal_id in change.inputs_applied:
            self.turn.inputs = [i for i in self.turn.inputs if i.signal_id != signal_id]
            self.turn.applied_inputs.append(signal_id)
        for intent in change.intents:
            self._intend(intent)
        for name in change.starts:
            self._update(name, state=CallState.STARTED, started=True)
        if change.frame is not None:
            self._frame(change.frame, settled=isinstance(change.end, Finish))
        self._apply(change.applied)

    def _append(
        self, kind: EntryKind, body: JsonValue, path: str, ordinal: int | None, seen: str | None
    ) -> None:
        if kind == EntryKind.OUTCOME:
            assert seen is not None
            key = (self.turn.id, path, ordinal)
            assert key not in [(e.turn_id, e.path, e.ordinal) for e in self.entries], "stored twice"
        position = len(self.entries) + 1
        self.entries.append(Entry(position, kind, self.turn.id, body, path, ordinal, seen))

    def _say(self, messages: Iterable[MessageDraft]) -> None:
        for message in messages:
            said = [m for m in self.turn.messages if m.ordinal == message.ordinal]
            assert not said or message.replayed or message.final, "said twice"
            self.turn.messages = [m for m in self.turn.messages if m not in said]
            self.turn.messages.append(message)

    def _frame(self, draft: FrameDraft, *, settled: bool) -> None:
        self.frames.append(
            Frame(
                position=len(self.entries),
                kind=CheckpointKind.SETTLED if settled else CheckpointKind.BOUNDARY,
                format=draft.format,
                harness=draft.harness,
                framework=draft.framework,
                definition=self.definition,
                body=draft.body,
                digest=digest(draft.body),
            )
        )

    def _intend(self, draft: IntentDraft) -> None:
        turn = self.turn
        name = execution_id(turn.id, f"{turn.rounds}/{draft.call_id}", draft.ordinal)
        assert name not in turn.calls, "intended twice"
        starts = draft.start and not draft.needs_approval and draft.route in IN_PROCESS
        turn.calls[name] = CallFacts(
            execution_id=name,
            call_id=draft.call_id,
            ordinal=draft.ordinal,
            round=turn.rounds,
            name=draft.name,
            arguments=draft.arguments,
            route=draft.route,
            effect=draft.effect,
            state=CallState.STARTED if starts else CallState.INTENDED,
            started=starts,
            allowed=not draft.needs_approval,
        )

    def _settle(self, draft: ResultDraft) -> None:
        if self.turn.calls[draft.execution_id].state not in SETTLED_CALLS:
            result = {"content": draft.content, "errorText": draft.error_text}
            self._update(
                draft.execution_id, state=draft.state, result=json.loads(json.dumps(result))
            )

    def _apply(self, names: Iterable[str]) -> None:
        for name in names:
            assert self.turn.calls[name].state in SETTLED_CALLS, "applied before it was received"
            assert not self.turn.calls[name].applied, "applied twice"
            self._update(name, applied=True)

    def _end(self, change: Commit, *, went_on: bool) -> None:
        match change.end:
            case Finish(result=result) if not went_on:
                self.turn.status, self.turn.result = "COMPLETED", result
            case Fail() as failure:
                self._fail(failure)
            case Park() | HandOver():
                self.turn.status = "WAITING"
            case Go() | Finish():
                pass  # it goes on

    def _fail(self, failure: Fail) -> None:
        """The store's rule: try again, or end with the clean state once no effect is in doubt."""
        self.turn.failures.append(failure.code)
        settled = all(
            c.state in SETTLED_CALLS | {CallState.INTENDED} for c in self.turn.calls.values()
        )
        if failure.retryable or not settled:
            self.turn.status = "WAITING"
            return
        for call in self.turn.calls.values():
            if call.state is CallState.INTENDED:
                self._update(call.execution_id, state=CallState.NOT_EXECUTED)
        for draft in failure.settled_entries:
            self._append(draft.kind, draft.body, draft.path, None, None)
        if failure.settled is not None:
            self._frame(failure.settled, settled=True)
        self._apply(name for name, call in self.turn.calls.items() if not call.applied)
        self.turn.status = "FAILED"

    def _has_steer(self) -> bool:
        return any(given.kind == SignalKind.STEER for given in self.turn.inputs)

    def _newest(self) -> list[CallFacts]:
        return [call for call in self.turn.calls.values() if call.round == self.turn.rounds]

    def _judge(self, call: CallFacts) -> None:
        if call.effect not in REPEATABLE:
            self._update(call.execution_id, state=CallState.UNKNOWN)

    def _update(self, name: str, **changes: Any) -> None:
        self.turn.calls[name] = replace(self.turn.calls[name], **changes)
