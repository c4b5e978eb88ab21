"""The journaled model: only whole replies are stored, however the provider's stream ends (C53)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import CompletedStreamedResponse, Model, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from sessions_app.harnesses.pydantic_ai.model import can_stream
from tests.covers import covers
from tests.unit.harnesses.pydantic_ai.agents import bench, calls, model, says

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from tests.contracts.harness.bench import Bench

CALLED = ModelResponse(parts=[ToolCallPart("note", {"text": "x"}, "c")], finish_reason="tool_call")
SAID = ModelResponse(parts=[TextPart("hello")], finish_reason="stop")


class Remote(Model):
    """A provider's model: a stream that ends as it is told, one response after the other."""

    def __init__(self, *responses: ModelResponse) -> None:
        super().__init__()
        self._responses = list(responses)

    @property
    def model_name(self) -> str:
        """Name of the model."""
        return "remote-1"

    @property
    def system(self) -> str:
        """Name of the provider."""
        return "remote"

    async def request(self, *_: Any) -> ModelResponse:
        """Never used: the stream is."""
        raise AssertionError

    @asynccontextmanager
    async def request_stream(self, *args: Any) -> AsyncGenerator[StreamedResponse]:
        """Give the next response as a stream."""
        response = self._responses.pop(0)
        yield CompletedStreamedResponse(response, model_request_parameters=args[2])


def _run(remote: Model) -> Bench:
    return bench(lambda: Agent(remote))


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(replace(CALLED, finish_reason=None), id="no-reason"),
        pytest.param(replace(CALLED, finish_reason="stop"), id="reason-made-up-by-the-client"),
        pytest.param(replace(CALLED, finish_reason="length"), id="length"),
        pytest.param(replace(CALLED, state="incomplete"), id="incomplete"),
        pytest.param(replace(SAID, state="interrupted"), id="interrupted"),
    ],
)
async def test_a_cut_reply_is_not_stored_and_starts_no_tool(cut: ModelResponse) -> None:
    """It is asked again, as a failure of the network would be."""
    run = _run(Remote(cut, SAID))

    turn = await run.complete()

    assert turn.failures == ["IO_ERROR"]
    assert turn.calls == {}
    assert run.tools.ran == {}
    assert turn.rounds == 1


@pytest.mark.parametrize(
    "whole",
    [
        CALLED,
        replace(CALLED, finish_reason="stop", provider_details={"finish_reason": "stop"}),
    ],
    ids=["tool_call", "stop-as-said-by-the-provider"],
)
async def test_a_whole_reply_is_taken(whole: ModelResponse) -> None:
    """Some providers say `stop` behind tool calls."""
    run = _run(Remote(whole, SAID))

    turn = await run.complete()

    assert turn.failures == []
    assert run.tools.ran == {"note": 1}


@pytest.mark.parametrize("fragments", range(1, 9))
async def test_a_stream_that_breaks_off_leaves_nothing(fragments: int) -> None:
    """Whichever fragment was the last, no tool starts and the request is made again."""
    pieces: list[str | DeltaToolCalls] = [
        "let ",
        "me",
        {1: DeltaToolCall("note", "", tool_call_id="c1")},
        {1: DeltaToolCall(json_args='{"text": "a"')},
        {1: DeltaToolCall(json_args="}")},
        {2: DeltaToolCall("note", "", tool_call_id="c2")},
        {2: DeltaToolCall(json_args='{"text": "b"}')},
    ]
    broken: list[int] = []

    async def answer(
        messages: list[ModelMessage], _info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        if any(isinstance(message, ModelResponse) for message in messages):
            yield "done"
            return
        for number, piece in enumerate(pieces):
            if number == fragments and not broken:
                broken.append(number)
                raise ConnectionResetError
            yield piece

    run = _run(FunctionModel(stream_function=answer))

    turn = await run.complete()

    assert turn.failures == ["IO_ERROR"] * len(broken)
    assert run.tools.ran == {"note": 2}
    assert turn.rounds == 2


async def test_an_error_of_the_provider_passes_through_unchanged() -> None:
    """Its status decides whether a new Run may help."""

    async def refuse(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(status_code=401, model_name="m")

    turn = await _run(FunctionModel(refuse)).complete()

    assert turn.failures == ["HTTP_401"]
    assert turn.status == "FAILED"


@covers("R066")
async def test_unknown_counts_are_none() -> None:
    """A provider that reports nothing is not taken for one that used nothing (R066)."""
    turn = await _run(Remote(SAID)).complete()

    (call,) = turn.model_calls
    assert (call.input_tokens, call.output_tokens, call.cached_tokens) == (None, None, None)


async def test_known_counts_are_kept() -> None:
    """With the name that the provider gave its model."""
    turn = await bench(lambda: Agent(model(says("two words")))).complete()

    (call,) = turn.model_calls
    assert call.output_tokens is not None
    assert call.model.startswith("function:")
    assert call.requests == 1


@pytest.mark.parametrize("big", [{"a": 1, "b": 2**60}, '{"a": 1, "b": 1152921504606846976}'])
async def test_arguments_that_json_cannot_hold_are_asked_for_again(big: Any) -> None:
    """A number that would change on the way starts no tool."""
    run = bench(
        lambda: Agent(model(calls(("add", big)), calls(("add", {"a": 1, "b": 2})), says("3")))
    )

    turn = await run.complete()

    assert turn.status == "COMPLETED"
    assert [call.arguments for call in turn.calls.values()] == [{"a": 1, "b": 2}]


def test_streams_are_used_where_a_model_has_them() -> None:
    """Through wrappers and fallbacks, which have them when all inner models do."""
    whole = model(says("x"))

    assert can_stream(Remote())
    assert can_stream(WrapperModel(TestModel()))
    assert not can_stream(whole)
    assert not can_stream(FallbackModel(TestModel(), whole))
