"""A provider on the wire: cut streams, retries of its client, and what is counted of both (C53)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

import httpx2
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel

from sessions_app.brain.failure import judge
from sessions_app.contract.backend import text_part
from sessions_app.harnesses.pydantic_ai.attempts import counted
from sessions_app.harnesses.pydantic_ai.model import JournaledModel
from sessions_app.ports import Attempts
from tests.covers import covers, poses
from tests.unit.harnesses.pydantic_ai.agents import bench, model, says
from tests.unit.harnesses.pydantic_ai.wire import (
    CALLED,
    SAID,
    WHOLE_CALLS,
    WHOLE_TEXT,
    End,
    Wire,
    stream,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from sessions_app.harnesses.pydantic_ai.record import Record
    from tests.contracts.harness.bench import Bench

ASKED: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
REASON = b'"finish_reason"'
"""The reply is whole once the reason has been said; what follows is its usage."""


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Have the client not log every request."""
    caplog.set_level(logging.ERROR)


def run_with(remote: Model) -> Bench:
    """An agent over this model."""
    return bench(lambda: Agent(remote))


@poses("C53")
@pytest.mark.parametrize(("end", "stride"), [("closed", 1), ("reset", 7)])
@pytest.mark.parametrize("whole", [WHOLE_CALLS, WHOLE_TEXT], ids=["calls", "text"])
async def test_a_stream_cut_at_any_byte_is_no_reply(end: End, stride: int, whole: bytes) -> None:
    """However it ends, before the reason was said nothing of it is taken; a new Run may help."""
    sizes = range(0, whole.index(REASON), stride)
    wire = Wire([whole[:size] for size in sizes], end)
    journaled = JournaledModel(wire.model(), cast("Record", None))

    for _ in sizes:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - whichever: its verdict is asked
            await journaled._send(ASKED, None, ModelRequestParameters())
        assert judge(raised.value).retryable, raised.value


@poses("C53")
@pytest.mark.parametrize("end", ["closed", "reset"])
@pytest.mark.parametrize("size", [0, 100, 180, 560, WHOLE_CALLS.index(REASON)])
async def test_a_cut_reply_starts_no_tool_and_is_asked_for_again(end: End, size: int) -> None:
    """Arguments that happen to be JSON so far run nothing; the next attempt counts alone."""
    wire = Wire([WHOLE_CALLS[:size], WHOLE_CALLS, WHOLE_TEXT], end)
    run = run_with(wire.model())

    turn = await run.complete()

    assert turn.failures == ["IO_ERROR"]
    assert run.tools.ran == {"note": 2}
    assert [call.status for call in turn.model_calls] == ["LOST", "COMPLETED", "COMPLETED"]
    assert [(said.ordinal, said.parts) for said in turn.messages] == [
        (1, (text_part("Let me."),)),
        (2, (text_part("done"),)),
    ]


@poses("C53")
async def test_a_reply_stopped_for_length_starts_no_tool() -> None:
    """Its last call may lack a part that nobody can see."""
    wire = Wire([stream(CALLED, "length"), WHOLE_CALLS, WHOLE_TEXT])
    run = run_with(wire.model())

    turn = await run.complete()

    assert turn.failures == ["IO_ERROR"]
    assert run.tools.ran == {"note": 2}


@covers("R064", "R067", "R157")
async def test_retries_of_the_client_are_requests_and_no_failures() -> None:
    """They are counted where they leave; the durable policy hears nothing of them."""
    wire = Wire([503, 429, WHOLE_TEXT])
    run = run_with(wire.model(retries=2))

    turn = await run.complete()

    (call,) = turn.model_calls
    assert turn.failures == []
    assert (call.requests, call.level) == (3, "PROVIDER_ATTEMPTS")
    assert (call.input_tokens, call.output_tokens) == (5, 7)


@covers("R157")
async def test_failures_of_the_turn_are_no_retries_of_the_client() -> None:
    """Each Run makes a request of its own, with its own facts."""
    wire = Wire([503, 503, WHOLE_TEXT])
    run = run_with(wire.model(retries=0))

    turn = await run.complete()

    assert turn.failures == ["HTTP_503", "HTTP_503"]
    assert [(call.status, call.requests) for call in turn.model_calls] == [
        ("FAILED", 1),
        ("FAILED", 1),
        ("COMPLETED", 1),
    ]


async def test_requests_of_a_client_that_gave_up_are_counted_too() -> None:
    """The refused request tells how often it left."""
    wire = Wire([503, 503, WHOLE_TEXT])
    run = run_with(wire.model(retries=1))

    turn = await run.complete()

    assert turn.failures == ["HTTP_503"]
    assert [call.requests for call in turn.model_calls] == [2, 1]


@covers("R067")
async def test_what_is_seen_from_outside_is_not_guessed() -> None:
    """A model without a client of a known kind is one request, whatever happens inside it."""
    turn = await run_with(model(says("hello"))).complete()

    (call,) = turn.model_calls
    assert (call.requests, call.level) == (1, "MODEL_CALL")


@pytest.mark.parametrize("other", ["function", "unknown transport"])
async def test_one_model_that_hides_its_requests_hides_the_level(other: str) -> None:
    """A fallback counts at the client only when each of its models does."""
    wire, attempts = Wire([]), Attempts()
    hidden: Model = model(says("hello"))
    if other == "unknown transport":
        remote = wire.model()
        remote.client._client._transport = type("Mine", (httpx2.AsyncBaseTransport,), {})()
        hidden = remote

    with counted(FallbackModel(wire.model(), hidden), attempts):
        pass

    assert (attempts.level, attempts.requests) == ("MODEL_CALL", None)


def test_texts_are_whole_on_the_wire() -> None:
    """The streams of this file hold what their tests look for."""
    assert stream(SAID, "stop") == WHOLE_TEXT
    assert WHOLE_CALLS.count(b'"name"') == 2
