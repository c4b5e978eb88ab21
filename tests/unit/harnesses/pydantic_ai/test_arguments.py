"""Arguments that a model writes as text: a document with one reading, or no call at all."""

from __future__ import annotations

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ModelResponse, ToolCallPart

from tests import entrances
from tests.covers import poses
from tests.unit.harnesses.pydantic_ai.agents import agent, bench, says


class Number(BaseModel):
    """A structured answer."""

    n: int


MORE = {
    "too deep": '{"a":' + "[" * 20_000 + "]" * 20_000 + ',"b":1}',
}


@poses("C16", "C17")
@pytest.mark.parametrize("kind", [*entrances.DOUBLE_KEYS, *MORE])
async def test_arguments_with_two_readings_start_nothing(kind: str) -> None:
    """The framework would take the last of two equal keys; the model is told, and the Turn ends."""
    text = {**entrances.DOUBLE_KEYS, **MORE}[kind].replace('"input":"b"', '"input":"b","b":1')
    asked = ModelResponse(parts=[ToolCallPart("add", text, "c1")])
    run = bench(lambda: agent(asked, says("done")))

    turn = await run.complete()

    assert (turn.status, run.tools.ran, turn.calls) == ("COMPLETED", {}, {})


@poses("C16")
async def test_an_output_with_two_readings_is_asked_for_again() -> None:
    """The same for the arguments of an output call."""
    twice = ModelResponse(parts=[ToolCallPart("final_result", '{"n":1,"n":2}', "c1")])
    good = ModelResponse(parts=[ToolCallPart("final_result", '{"n":3}', "c2")])
    run = bench(lambda: agent(twice, good, output_type=Number))

    turn = await run.complete()

    assert turn.result == {"parts": [{"type": "data", "data": {"n": 3}}]}
