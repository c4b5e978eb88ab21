"""What is recorded of one invocation: history, outcomes, applied results, inputs, checkpoints."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    ToolReturnPart,
    UserPromptPart,
)

from hands_app.contract.strict_json import digest
from sessions_app.contract.backend import MessageDraft
from sessions_app.contract.status import CheckpointKind, SignalKind
from sessions_app.harnesses import journal
from sessions_app.harnesses.pydantic_ai import codec, events
from sessions_app.harnesses.pydantic_ai.request import Fingerprints, normalised
from sessions_app.ports import Attempts, Finished, ModelOutcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.run import AgentRun
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RunUsage

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import PendingInput
    from sessions_app.ports import ExecutionHost


class _NotYet(Exception):
    """The provider paused in the midst of its reply and will be asked to go on."""

    def __init__(self, response: ModelResponse) -> None:
        self.response = response


class Record:
    """Keeps journal and checkpoint in step with the native run."""

    def __init__(self, host: ExecutionHost, state: codec.State) -> None:
        """`state` is what the checkpoint contains."""
        self.host = host
        self.state = state
        self.run: AgentRun[Any, Any] | None = None
        self._prints = Fingerprints()
        self._stored = self._prints.of(state.history)
        self._taken: list[PendingInput] = []
        self._given: list[str] = []
        self._replayed = False  # the newest outcome was an earlier Run's

    def opening(self) -> codec.Prompt | None:
        """The prompt to enter the agent with: the Turn's input, or a late steer; else None."""
        if self.state.is_new:
            return codec.prompt(self.host.native.turn_input)
        if self.state.stand.finished:
            return self._take_in()
        return None

    def add_inputs(self, request: ModelRequest) -> None:
        """Put what arrived since into the request that is about to be sent."""
        if self.run is not None and (history := self.run.all_messages()):
            order_results(history[-1], request)
        content = self._take_in()
        if content is not None:
            request.parts = [*request.parts, UserPromptPart(content)]

    def _take_in(self) -> codec.Prompt | None:
        given = [
            pending
            for pending in self.host.new_inputs()
            if pending.kind != SignalKind.EXTERNAL and pending not in self._taken
        ]
        if not given:
            return None
        self._taken += given
        self.state.stand.reopen()
        return codec.prompt(*(pending.content for pending in given))

    def gave(self, execution_id: str) -> None:
        """Say that the framework has this result; the next checkpoint contains it."""
        self._given.append(execution_id)

    async def ask(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        send: Callable[[Attempts], Awaitable[ModelResponse]],
        model: str,
    ) -> ModelResponse:
        """One logical request: record its history, then replay its outcome or bring a fresh one."""
        self.keep()
        await self._commit_inputs()
        request = normalised(self._prints.of(messages), settings, parameters)
        ordinal = self.state.stand.round + 1
        fresh: list[ModelResponse] = []
        attempts = Attempts()

        async def outcome() -> ModelOutcome:
            response = await send(attempts)
            if response.state == "suspended":
                raise _NotYet(response)
            fresh.append(response)
            body = journal.body(len(self._stored), codec.dump([response]))
            return ModelOutcome(body, events.facts(ordinal, digest(request), response, attempts))

        try:
            stored = await self.host.ask_model(
                ordinal=ordinal, request=request, send=outcome, model=model, attempts=attempts
            )
        except _NotYet as paused:
            return paused.response
        return self._answered(ordinal, stored, replayed=not fresh)

    def _answered(self, ordinal: int, stored: JsonValue, *, replayed: bool) -> ModelResponse:
        """Take the outcome in; a replayed one may stand before its request and is put in place."""
        _, messages = journal.messages_of(stored)
        if replayed:
            self.host.append(journal.items(len(self._stored), messages))
        response = cast("ModelResponse", codec.load(messages)[0])
        self._stored += self._prints.of([response])
        self.state.stand.answered(ordinal)
        self.checkpoint(response)
        self._replayed = replayed
        if parts := events.spoken(response):
            self.host.say(MessageDraft(ordinal=ordinal, parts=parts, replayed=replayed))
        return response

    def keep(self) -> None:
        """Record what the history has gained, with its results and the checkpoint that has it."""
        self._write()
        self.host.mark_applied(*self._given)
        self._given = []
        self.checkpoint()

    def finished(self, output: object) -> Finished:
        """The answer, with the last history."""
        history = self.run.all_messages() if self.run is not None else []
        if len(history) > 1 and isinstance(history[-1], ModelRequest):
            order_results(history[-2], history[-1], last=True)
        self._answer(history, output)
        self.keep()
        self.state.stand.finish(cast("JsonValue", events.result(output)))
        return self.finished_again()

    def _answer(self, history: Sequence[ModelMessage], output: object) -> None:
        """Say the output as the Turn's last message, unless its words were just that (R076)."""
        reply = next(m for m in reversed(history) if isinstance(m, ModelResponse))
        parts = events.answer(reply, output)
        if parts != events.spoken(reply):
            self.host.say(
                MessageDraft(
                    ordinal=self.state.stand.round,
                    parts=parts,
                    replayed=self._replayed,
                    final=True,
                )
            )

    def finished_again(self) -> Finished:
        """The answer that the checkpoint already holds."""
        frame = self.state.frame(CheckpointKind.SETTLED)
        return Finished(self.state.stand.result, frame=frame)

    async def _commit_inputs(self) -> None:
        """Inputs are committed as applied before the request that contains them (S12)."""
        if not self._taken:
            return
        self.host.mark_inputs_applied(*(pending.signal_id for pending in self._taken))
        self._taken = []
        await self.host.commit()

    def _write(self) -> None:
        """Append what differs: new messages, a request that grew, or a compacted history."""
        messages = self.run.all_messages() if self.run is not None else self.state.history
        prints = self._prints.of(messages)
        at = _shared(prints, self._stored)
        if at < max(len(prints), len(self._stored)):
            self.host.append(journal.items(at, codec.dump(messages[at:])))
            self._stored = prints

    def checkpoint(self, response: ModelResponse | None = None) -> None:
        """Record where the Turn stands; `response` is not yet in the framework's own count."""
        usage = deepcopy(self._usage())
        if response is not None:
            usage.incr(response.usage)
            usage.requests += 1
        self.state.stand.usage = codec.USAGE.dump_python(usage, mode="json")
        if self.run is not None:
            self.state.stand.conversation = self.run.conversation_id
        self.host.checkpoint(self.state.frame())

    def _usage(self) -> RunUsage:
        if self.run is not None:
            return self.run.usage
        return codec.USAGE.validate_python(self.state.stand.usage)


def order_results(reply: ModelMessage, request: ModelRequest, *, last: bool = False) -> None:
    """Put the results in the order of the calls; the framework puts those of output calls first.

    At the `last` it leaves out an outside call that lost against the output: it was not executed.
    """
    calls = reply.tool_calls if isinstance(reply, ModelResponse) else ()
    places = {call.tool_call_id: place for place, call in enumerate(calls)}
    given = {_answered(part) for part in request.parts}
    lost = [call for call in calls if last and call.tool_call_id not in given]
    parts = [*request.parts, *map(codec.not_executed, lost)]
    request.parts = sorted(parts, key=lambda part: places.get(_answered(part), len(places)))


def _answered(part: ModelRequestPart) -> str:
    """Id of the call whose result this is; empty for anything else."""
    if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_name is not None:
        return part.tool_call_id
    return ""


def _shared(one: list[str], other: list[str]) -> int:
    """How many members both begin with."""
    for place, (ours, theirs) in enumerate(zip(one, other, strict=False)):
        if ours != theirs:
            return place
    return min(len(one), len(other))
