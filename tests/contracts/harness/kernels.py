"""The kernels under test: for each, how an agent is made whose model is the suite's provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_ai import Agent
from pydantic_ai.models.function import AgentInfo, FunctionModel

from sessions_app.contract.identity import DefinitionKey
from sessions_app.harnesses import adapter
from sessions_app.harnesses.scripted.model import Script, Transcript
from sessions_app.registry import Definition, Factory
from tests.contracts.harness import native

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from pydantic_ai.messages import ModelMessage, ModelResponse

    from hands_app.contract.tools import Tool
    from sessions_app.ports import HarnessAdapter
    from tests.contracts.harness.provider import Provider

KEY = DefinitionKey("agent", "1")


@dataclass(frozen=True)
class Kernel:
    """One way to run an agent."""

    id: str
    harness: str
    factory: Callable[[Provider], Factory]
    commits: int  # that the scenario of `test_recovery` takes

    @property
    def adapter(self) -> HarnessAdapter:
        """The adapter under test."""
        return adapter(self.harness)

    def definition(self, provider: Provider, tools: Sequence[Tool]) -> Definition:
        """An agent that asks this provider and knows these tools."""
        bindings = {tool.binding.name: tool.binding for tool in tools}
        return Definition(
            KEY, self.harness, self.factory(provider), tuple(tools), bindings=bindings
        )


def _scripted(provider: Provider) -> Factory:
    async def send(transcript: Transcript) -> None:
        await provider.answer(transcript)

    return lambda _binding: Script(provider.reply, send)


def _whole(provider: Provider) -> Factory:
    async def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return native.response(await provider.answer(native.transcript(messages)))

    return lambda _binding: Agent(FunctionModel(answer))


def _streamed(provider: Provider) -> Factory:
    async def answer(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[native.Piece]:
        for piece in native.pieces(await provider.answer(native.transcript(messages))):
            yield piece

    return lambda _binding: Agent(FunctionModel(stream_function=answer))


KERNELS = [
    Kernel("scripted", "scripted", _scripted, 7),
    Kernel("pydantic_ai", "pydantic_ai", _whole, 8),
    Kernel("pydantic_ai-streamed", "pydantic_ai", _streamed, 8),
]
