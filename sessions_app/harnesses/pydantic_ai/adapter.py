"""The default kernel: rebuilds a run from the checkpoint and drives it to its next end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.conversation import Conversation
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import UsageLimits

from sessions_app.contract.errors import Invalid
from sessions_app.harnesses.pydantic_ai import codec
from sessions_app.harnesses.pydantic_ai.durable import Durable
from sessions_app.harnesses.pydantic_ai.grammar import PydanticAIGrammar
from sessions_app.harnesses.pydantic_ai.record import Record
from sessions_app.harnesses.pydantic_ai.tools import Calls, Parked
from sessions_app.harnesses.pydantic_ai.toolset import RegisteredToolset
from sessions_app.harnesses.transcript import Transcripts
from sessions_app.ports import HarnessCapabilities, InvocationEnd, Suspended
from sessions_app.registry import AgentBinding

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pydantic_ai.run import AgentRun

    from sessions_app.contract.backend import EntryDraft, FrameDraft, Native
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.ports import ExecutionHost
    from sessions_app.registry import Definition


AnyAgent = AbstractAgent[Any, Any]


class PydanticAIAdapter(Transcripts):
    """See `HarnessAdapter`. The factory returns an Agent, or an Agent and the deps of its run."""

    name = "pydantic_ai"
    format = codec.FORMAT
    grammar = PydanticAIGrammar()
    capabilities = HarnessCapabilities(
        partial_results=False, mid_round_checkpoint=True, model_outcomes="wrapped"
    )

    def framework(self) -> str:
        """Name and version, as stamped into checkpoints."""
        return codec.ENVELOPE.framework

    async def run(self, definition: Definition, host: ExecutionHost) -> InvocationEnd:
        """Rebuild and run until the answer, or until something from outside is needed."""
        state = codec.restore(host.native, host.context.definition, host.context.turn_id)
        record = Record(host, state)
        prompt = record.opening()
        if prompt is None and state.stand.finished:
            return record.finished_again()
        agent, deps = _built(definition, host)
        return await _drive(agent, deps, record, Calls(record, definition), definition, prompt)

    def check(self, native: Native, definition: DefinitionKey) -> None:
        """See the port: the whole state is read, as a Run would."""
        codec.restore(native, definition, turn_id="")

    def settle(self, native: Native) -> tuple[tuple[EntryDraft, ...], FrameDraft | None]:
        """Native clean-up of a failed or cancelled Turn."""
        return codec.settle(native)


async def _drive(
    agent: AnyAgent,
    deps: object,
    record: Record,
    calls: Calls,
    definition: Definition,
    prompt: codec.Prompt | None,
) -> InvocationEnd:
    own = _names(agent)
    missing = [tool for tool in definition.tools if tool.name not in own]
    entering: AbstractAsyncContextManager[AgentRun[Any, Any]] = agent.iter(
        prompt,
        conversation=_conversation(record.state),
        run_id=record.host.context.run_id,
        deps=deps,
        usage_limits=UsageLimits(request_limit=None),
        toolsets=[RegisteredToolset(missing, calls.context)],
        capabilities=[Durable(record, calls)],
    )
    async with entering as run:
        record.run = run
        try:
            await _walk(run, record, calls)
        except Parked:
            return Suspended()
        return record.finished(run.result.output if run.result is not None else None)


async def _walk(run: AgentRun[Any, Any], record: Record, calls: Calls) -> None:
    """Take node after node; what arrived meanwhile goes into the next request."""
    async for node in run:
        if Agent.is_model_request_node(node):
            record.add_inputs(node.request)
        elif Agent.is_call_tools_node(node):
            calls.begin(node.model_response)


def _conversation(state: codec.State) -> Conversation:
    carried = Conversation(
        messages=[*state.history, *state.closing],
        usage=codec.USAGE.validate_python(state.stand.usage),
    )
    if state.stand.conversation is not None:
        carried.conversation_id = state.stand.conversation
    return carried


def _built(definition: Definition, host: ExecutionHost) -> tuple[AnyAgent, object]:
    made = definition.build(AgentBinding(host.context, definition.tools))
    agent, deps = made if isinstance(made, tuple) else (made, None)
    if not isinstance(agent, AbstractAgent):
        msg = f"the factory of {definition.key} returned {type(agent).__name__}, not an Agent"
        raise Invalid(msg)
    return agent, deps


def _names(agent: AnyAgent) -> set[str]:
    """Names of the tools that the agent has of its own, as far as they are known before it runs."""
    return {
        name
        for toolset in agent.toolsets
        if isinstance(toolset, FunctionToolset)
        for name in toolset.tools
    }
