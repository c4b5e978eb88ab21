"""The Brain's side of one invocation: what an adapter may ask for, as laws 4 and 6 want it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hands_app.contract.faults import declare, faultpoint
from hands_app.contract.strict_json import JsonValue, digest
from sessions_app.brain.asking import Request
from sessions_app.brain.boundary import Buffer, Commits
from sessions_app.brain.effects import Effects
from sessions_app.brain.failure import Interrupted, IterationLimit, TokenLimit
from sessions_app.brain.observation import MAIN, Observation, Outcomes, tokens
from sessions_app.contract.backend import Finish, Go, ModelCallFacts
from sessions_app.contract.status import StepPhase
from sessions_app.ports import RunContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sessions_app.brain.database import Database
    from sessions_app.brain.guard import Guard
    from sessions_app.brain.lease import Held
    from sessions_app.contract.backend import (
        CallFacts,
        Committed,
        End,
        EntryDraft,
        FrameDraft,
        IntentDraft,
        MessageDraft,
        Native,
        PendingInput,
        ResultDraft,
    )
    from sessions_app.ports import Attempts, ModelOutcome, SessionBackend, ToolReturn

declare("brain.model.before_request", "brain.model.after_outcome", "brain.outcome.after_commit")


class Invocation:
    """`ExecutionHost` for one claim. Lives on the loop; OwnershipLost from any method ends it."""

    def __init__(
        self,
        backend: SessionBackend,
        database: Database,
        held: Held,
        native: Native,
        *,
        drains: Callable[[], bool],
        guard: Guard | None = None,
    ) -> None:
        """`drains` says whether this process was told to stop; without a `guard` it has no say."""
        claim = held.claim
        self.context = RunContext(
            namespace=claim.key.session.namespace,
            session_id=claim.key.session.session_id,
            thread_id=claim.key.thread_id,
            turn_id=claim.turn_id,
            run_id=claim.run_id,
            definition=claim.definition,
        )
        self.native = native
        self.interrupted: Interrupted | None = None
        self._round_limit = native.round_limit or 0
        self._token_limit = native.token_limit
        self._drains = drains
        self._guard = guard
        self._known = Observation(native)
        self._outcomes = Outcomes(native, claim.turn_id)
        self._commits = Commits(backend, database, held, self._known.absorb)
        self._effects = Effects(self._known, self._commits, held, self._flush, self._interrupt)
        held.has_effects = self._effects.any_open

    # --- the port ---

    async def ask_model(
        self,
        *,
        ordinal: int,
        request: JsonValue,
        send: Callable[[], Awaitable[ModelOutcome]],
        path: str = MAIN,
        model: str = "",
        attempts: Attempts | None = None,
    ) -> JsonValue:
        """See the port."""
        asked = ModelCallFacts(
            path=path, ordinal=ordinal, request_digest=digest(request), model=model
        )
        stored = self._outcomes.find(path, ordinal, asked.request_digest)
        if stored is not None:
            return stored.body
        await self._clear_the_way(path)
        outcome = await self._ask(asked, send, attempts)
        if path != MAIN:
            await self._flush()  # whoever asked aside acts on it at once (R069)
        return outcome

    def append(self, *entries: EntryDraft) -> None:
        """See the port."""
        for entry in entries:
            self._append(entry)

    def checkpoint(self, frame: FrameDraft) -> None:
        """See the port."""
        self._buffer.frame = frame

    def say(self, message: MessageDraft) -> None:
        """See the port."""
        self._buffer.say(message)

    def intend(self, *intents: IntentDraft) -> None:
        """See the port."""
        self._buffer.intents.extend(intents)

    def mark_applied(self, *execution_ids: str) -> None:
        """See the port."""
        self._buffer.applied.extend(execution_ids)

    def mark_inputs_applied(self, *signal_ids: str) -> None:
        """See the port."""
        self._buffer.inputs_applied.extend(signal_ids)

    async def commit(self) -> None:
        """See the port."""
        await self._flush()
        self._interrupt()

    async def run_local(
        self, execution_id: str, body: Callable[[], Awaitable[ToolReturn]]
    ) -> CallFacts:
        """See the port."""
        return await self._effects.run(execution_id, body)

    def call(self, call_id: str, ordinal: int, round_: int) -> CallFacts | None:
        """See the port."""
        return self._known.call(call_id, ordinal, round_)

    def new_inputs(self) -> tuple[PendingInput, ...]:
        """See the port."""
        if self._outcomes.replaying:
            return ()
        taken = self._buffer.inputs_applied
        return tuple(given for given in self._known.inputs if given.signal_id not in taken)

    # --- for the loop ---

    async def end(self, end: End, final: Buffer | None = None) -> Committed:
        """Send the last commit: the buffer with `final` added, and how the invocation ends."""
        if final is not None:
            self.append(*final.entries)
            self._buffer.frame = final.frame or self._buffer.frame
        self.refuse_broken_history(whole=isinstance(end, Finish))
        return await self.last(end)

    def refuse_broken_history(self, *, whole: bool = False) -> None:
        """Raise BrokenTranscript before a commit or a request has what no model takes (I33)."""
        if self._guard is not None:
            self._guard.check(whole=whole)

    async def over(self) -> None:
        """Wait for local effects that have begun; of a lost invocation, cancel them."""
        await self._effects.over()

    async def give_up(self, end: End) -> Committed:
        """Send the last commit of an invocation that broke off: facts are kept, plans are not."""
        await self.break_off()
        return await self.last(end)

    async def break_off(self) -> tuple[ResultDraft, ...]:
        """Let effects that have begun end; gives the results that the last commit will store."""
        await self.over()
        self._commits.buffer = self._buffer.rescued()
        self._effects.close_open()
        return tuple(self._buffer.results)

    async def last(self, end: End) -> Committed:
        """Send the last commit as the buffer stands."""
        answer = await self._commits.send(lambda _buffer: end)
        assert answer is not None  # noqa: S101 - only an empty commit that goes on is not sent
        return answer

    async def keep_facts(self) -> None:
        """Commit what stays true although the invocation begins again from what is stored."""
        await self.over()
        self._commits.buffer = self._buffer.rescued()
        await self._flush()

    # --- inside ---

    @property
    def _buffer(self) -> Buffer:
        return self._commits.buffer

    def _append(self, entry: EntryDraft) -> None:
        self._buffer.entries.append(entry)
        if self._guard is not None:
            self._guard.take(entry)

    async def _flush(self, phase: StepPhase | None = None) -> None:
        """Commit what is buffered. An outcome with intents ends its Step and begins a TOOL Step."""
        outcome = bool(self._buffer.outcomes)
        self.refuse_broken_history()
        try:
            await self._commits.send(
                lambda buffer: Go(phase=self._known.next_phase(buffer) or phase)
            )
        except Interrupted as withdrawn:
            self.interrupted = withdrawn
            raise
        if outcome:
            faultpoint("brain.outcome.after_commit")

    async def _clear_the_way(self, path: str) -> None:
        """Before a fresh request: the round is allowed, facts stand, nobody wants us to stop."""
        self._check_tokens()
        if path != MAIN:
            if self._buffer.holds_facts:
                await self._flush()
            self._interrupt()
            return
        self._check_rounds()
        self.refuse_broken_history(whole=True)
        if self._buffer.holds_facts or self._known.phase != StepPhase.REASONING:
            await self._flush(StepPhase.REASONING)
        self._interrupt()

    def _check_tokens(self) -> None:
        """Side calls count too; unknown counts cannot."""
        used = self._known.tokens + sum(map(tokens, self._buffer.model_calls))
        if self._token_limit is not None and self._token_limit <= used:
            msg = f"the Turn used {used} tokens; its limit is {self._token_limit}"
            raise TokenLimit(msg)

    def _check_rounds(self) -> None:
        rounds = self._known.rounds + sum(entry.path == MAIN for entry in self._buffer.outcomes)
        if 0 < self._round_limit <= rounds:
            msg = f"the Turn asked its model {rounds} times, which is its limit"
            raise IterationLimit(msg)

    async def _ask(
        self,
        asked: ModelCallFacts,
        send: Callable[[], Awaitable[ModelOutcome]],
        attempts: Attempts | None,
    ) -> JsonValue:
        """Send one request; whatever becomes of it leaves its facts in the buffer (R064)."""
        request = Request(asked, attempts)
        try:
            faultpoint("brain.model.before_request")
            outcome = await send()
        except BaseException as error:
            self._buffer.model_calls.append(request.unanswered(error))
            raise
        faultpoint("brain.model.after_outcome")
        self._buffer.model_calls.append(request.answered(outcome))
        self._append(request.entry(outcome))
        return outcome.body

    def _interrupt(self) -> None:
        """Raise Interrupted when somebody wants us to stop and no local effect is in flight."""
        why = self._wish()
        if why is None or self._effects.any_open():
            return
        self.interrupted = Interrupted(why)
        raise self.interrupted

    def _wish(self) -> Literal["cancel", "pause", "drain"] | None:
        if self._known.cancel:
            return "cancel"
        if self._known.pause:
            return "pause"
        return "drain" if self._drains() else None
