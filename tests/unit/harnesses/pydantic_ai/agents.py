"""Runs any pydantic-ai agent as a durable Turn in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.contracts.harness.bench import Bench
from tests.contracts.harness.kernels import Kernel
from tests.contracts.harness.provider import Provider

Answer = Callable[[list[ModelMessage], AgentInfo], Awaitable[ModelResponse]]


def bench(build: Callable[[], Any], **options: Any) -> Bench:
    """A Thread whose agent is made by `build`; its model is the agent's own."""
    kernel = Kernel("pydantic_ai", "pydantic_ai", lambda _: lambda _binding: build(), 0)
    return Bench(kernel, Provider([]), **options)


def model(*responses: ModelResponse, seen: list[list[ModelMessage]] | None = None) -> FunctionModel:
    """A model that gives these responses in order, by the number of those in the prompt."""

    async def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(messages)
        given = [message for message in messages if isinstance(message, ModelResponse)]
        return responses[len(given)]

    return FunctionModel(answer)


def says(text: str) -> ModelResponse:
    """A reply of text."""
    return ModelResponse(parts=[TextPart(text)])


def calls(*asked: tuple[str, Any]) -> ModelResponse:
    """A reply of calls, by name and arguments."""
    parts = [ToolCallPart(name, args, f"c{at}") for at, (name, args) in enumerate(asked)]
    return ModelResponse(parts=parts)


def agent(*responses: ModelResponse, tools: Sequence[Any] = (), **options: Any) -> Agent[Any, Any]:
    """An agent over such a model."""
    return Agent(model(*responses), tools=tools, **options)
