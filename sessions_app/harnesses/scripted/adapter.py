"""The reference adapter: messages and tool calls as plain JSON, one commit for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sessions_app.contract.backend import MessageDraft, text_part
from sessions_app.contract.status import CheckpointKind, SignalKind
from sessions_app.harnesses import journal
from sessions_app.harnesses.scripted import codec, events, tools
from sessions_app.harnesses.scripted.grammar import ScriptedGrammar
from sessions_app.harnesses.scripted.model import ScriptedModel
from sessions_app.harnesses.transcript import Transcripts
from sessions_app.ports import Finished, HarnessCapabilities, InvocationEnd, ModelOutcome, Suspended
from sessions_app.registry import AgentBinding

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import EntryDraft, FrameDraft, Native
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.ports import ExecutionHost
    from sessions_app.registry import Definition


class ScriptedAdapter(Transcripts):
    """See `HarnessAdapter`. The agent factory returns a `Script`."""

    name = "scripted"
    format = codec.FORMAT
    grammar = ScriptedGrammar()
    capabilities = HarnessCapabilities(
        partial_results=False, mid_round_checkpoint=True, model_outcomes="native"
    )

    def framework(self) -> str:
        """Name and version, as stamped into checkpoints."""
        return codec.ENVELOPE.framework

    async def run(self, definition: Definition, host: ExecutionHost) -> InvocationEnd:
        """Rebuild and run until the answer, or until something from outside is needed."""
        state = codec.restore(host.native, host.context.definition, host.context.turn_id)
        script = definition.build(AgentBinding(host.context, definition.tools))
        return await _Invocation(definition, host, state, ScriptedModel(script)).run()

    def check(self, native: Native, definition: DefinitionKey) -> None:
        """See the port: the whole state is read, as a Run would."""
        codec.restore(native, definition, turn_id="")

    def settle(self, native: Native) -> tuple[tuple[EntryDraft, ...], FrameDraft | None]:
        """Native clean-up of a failed or cancelled Turn."""
        return codec.settle(native)


class _Invocation:
    def __init__(
        self, definition: Definition, host: ExecutionHost, state: codec.State, model: ScriptedModel
    ) -> None:
        self._definition = definition
        self._host = host
        self._state = state
        self._model = model

    async def run(self) -> InvocationEnd:
        self._put(self._state.opening)
        while True:
            reply = self._state.open_reply
            if reply is not None and not await self._close_round(reply):
                return Suspended()
            if not await self._take_in() and self._state.progress.finished:
                return self._finished()
            reply = await self._ask()
            if not reply["calls"]:
                self._state.progress.finish(events.answer(reply))
                return self._finished()

    def _finished(self) -> Finished:
        result = self._state.progress.result
        return Finished(result, frame=self._state.frame(CheckpointKind.SETTLED))

    async def _take_in(self) -> bool:
        """Commit steers and injects as applied before the request that contains them (S12)."""
        given = [
            pending for pending in self._host.new_inputs() if pending.kind != SignalKind.EXTERNAL
        ]
        if not given:
            return False
        self._state.progress.reopen()
        self._put([codec.input_message(pending) for pending in given])
        self._host.mark_inputs_applied(*(pending.signal_id for pending in given))
        await self._host.commit()
        return True

    async def _ask(self) -> dict[str, Any]:
        """One reasoning round. Its outcome is committed with its intents, or with the finish."""
        history, progress = self._state.history, self._state.progress
        ordinal = progress.round + 1
        request: JsonValue = {"messages": list(history)}

        fresh = False

        async def send() -> ModelOutcome:
            nonlocal fresh
            reply = await self._model.request(history, ordinal)
            fresh = True
            observed = events.facts(ordinal, request, history, reply)
            return ModelOutcome(journal.body(len(history), [reply]), observed)

        stored = await self._host.ask_model(
            ordinal=ordinal, request=request, send=send, model=events.MODEL
        )
        _, replies = journal.messages_of(stored)
        progress.answered(ordinal)
        if fresh:
            history.extend(replies)
        self._put([] if fresh else replies)
        self._host.checkpoint(self._state.frame())
        return self._said(history[-1], ordinal, replayed=not fresh)

    def _said(self, reply: dict[str, Any], ordinal: int, *, replayed: bool) -> dict[str, Any]:
        if reply["text"]:
            parts = (text_part(reply["text"]),)
            self._host.say(MessageDraft(ordinal=ordinal, parts=parts, replayed=replayed))
        return reply

    async def _close_round(self, reply: dict[str, Any]) -> bool:
        """Answer every call of the reply, in its order; False while one is open elsewhere."""
        round_ = tools.Round(
            self._definition, self._host, reply["calls"], self._state.progress.round
        )
        await round_.intend()
        await round_.run(self._apply)
        if not round_.applied and round_.is_settled:
            self._apply(round_)
        return round_.applied

    def _apply(self, round_: tools.Round) -> None:
        """Put the results into the transcript, all at once and in call order."""
        self._put([codec.result(call_id, outcome) for call_id, outcome in round_.results()])
        self._host.mark_applied(*round_.unapplied())

    def _put(self, messages: list[JsonValue]) -> None:
        """Append to the transcript, in memory and in the next commit."""
        if messages:
            self._host.append(journal.items(len(self._state.history), messages))
            self._state.history.extend(messages)
            self._host.checkpoint(self._state.frame())
