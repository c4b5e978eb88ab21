"""Request digests: the same logical request has the same digest in every process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from hands_app.contract.strict_json import digest
from sessions_app.harnesses.pydantic_ai.codec import dump, load
from sessions_app.harnesses.pydantic_ai.request import Fingerprints, normalised

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOOL = ToolDefinition(name="add", description="Add.", parameters_json_schema={"type": "object"})


def _history(**ids: Any) -> list[ModelMessage]:
    at = ids.pop("at", NOW)
    return [
        ModelRequest(parts=[UserPromptPart("go", timestamp=at)], timestamp=at, **ids),
        ModelResponse(
            parts=[TextPart("let me"), ToolCallPart("add", {"a": 1}, "c")], timestamp=at, **ids
        ),
        ModelRequest(parts=[ToolReturnPart("add", 2, "c", timestamp=at)], timestamp=at, **ids),
    ]


def _digest(
    messages: list[ModelMessage],
    settings: ModelSettings | None = None,
    tools: tuple[ToolDefinition, ...] = (TOOL,),
) -> str:
    parameters = ModelRequestParameters(function_tools=list(tools))
    return digest(normalised(Fingerprints().of(messages), settings, parameters))


def test_times_and_ids_make_no_difference() -> None:
    """Another process stamps others (frameworks 3.2)."""
    later = _history(at=NOW + timedelta(days=1), run_id="r2", conversation_id="c2")

    assert _digest(_history(run_id="r1", conversation_id="c1")) == _digest(later)


def test_a_history_from_the_store_makes_no_difference() -> None:
    """What was stored and read is the same request."""
    assert _digest(load(dump(_history()))) == _digest(_history())


def test_what_belongs_to_one_process_makes_no_difference() -> None:
    """Timeouts and headers may change with a deploy."""
    settings = ModelSettings(timeout=3, extra_headers={"x-trace": "1"}, temperature=0.1)

    assert _digest(_history(), settings) == _digest(_history(), ModelSettings(temperature=0.1))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: _digest(_history()[:1]), id="history"),
        pytest.param(lambda: _digest(_history(), ModelSettings(temperature=0.9)), id="settings"),
        pytest.param(lambda: _digest(_history(), tools=()), id="tools"),
        pytest.param(
            lambda: _digest([ModelRequest(parts=[UserPromptPart("go")], instructions="Be short.")]),
            id="instructions",
        ),
    ],
)
def test_what_the_model_reads_makes_a_difference(other: Any) -> None:
    """A changed agent diverges instead of getting a foreign answer."""
    assert other() != _digest(_history())


def test_the_newest_messages_are_read_anew() -> None:
    """The framework still adds to them."""
    prints = Fingerprints()
    history = _history()
    before = prints.of(history)

    history[-1].parts = [*history[-1].parts, UserPromptPart("and more")]
    after = prints.of(history)

    assert before[:-1] == after[:-1]
    assert before[-1] != after[-1]
