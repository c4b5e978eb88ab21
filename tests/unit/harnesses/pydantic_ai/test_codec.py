"""The codec: what is stored is what the framework gets back."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
    VideoUrl,
)
from pydantic_ai.usage import RequestUsage

from hands_app.contract.strict_json import check
from sessions_app.contract.content import user_input
from sessions_app.harnesses.pydantic_ai.codec import dump, dump_return, load, load_return, prompt
from tests.covers import covers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PICTURE = BinaryContent(b"\xff\x00", media_type="image/png")
HISTORY: list[ModelMessage] = [
    ModelRequest(
        parts=[
            SystemPromptPart("Be short.", timestamp=NOW),
            UserPromptPart(["look", PICTURE], timestamp=NOW),
        ],
        instructions="Be kind.",
        timestamp=NOW,
    ),
    ModelResponse(
        parts=[
            ThinkingPart("hm", signature="s"),
            TextPart("let me"),
            ToolCallPart("t", {"a": 1}, "c"),
        ],
        usage=RequestUsage(input_tokens=3, output_tokens=4, details={"x": 1}),
        model_name="m",
        provider_details={"finish_reason": "tool_calls"},
        finish_reason="tool_call",
        timestamp=NOW,
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("t", None, "c", timestamp=NOW),
            RetryFeedbackPart("again", retry=RetryInfo(cause="no_output"), timestamp=NOW),
        ],
        timestamp=NOW,
    ),
]


def test_messages_survive_the_store() -> None:
    """Files, usage, thinking, empty results and provider details included."""
    stored = dump(HISTORY)

    check(stored)
    again = load(stored)
    assert dump(again) == stored
    assert again[1] == HISTORY[1]
    assert again[2] == HISTORY[2]


def test_what_belongs_to_one_run_is_left_out() -> None:
    """The framework refuses to run under an id that it finds in the history."""
    (stored,) = dump([replace(HISTORY[1], run_id="r", conversation_id="c")])

    assert isinstance(stored, dict)
    assert not {"run_id", "conversation_id"} & stored.keys()


def test_odd_text_is_replaced_by_a_marker() -> None:
    """Of models and tools, which cannot be asked again."""
    (stored,) = dump([ModelResponse(parts=[TextPart("a\x00b\ud800")])])

    assert "a\ufffdb\ufffd" in str(stored)


@covers("R209")
@pytest.mark.parametrize(
    "value",
    [1, None, "text", {"a": [1, None]}, ToolReturn("v", content="c", metadata={"n": 1})],
    ids=str,
)
def test_returns_of_tools_survive_the_store(value: Any) -> None:
    """They arrive as produced (R209)."""
    assert load_return(dump_return(value)) == value


@covers("R036")
@pytest.mark.parametrize(
    ("part", "content"),
    [
        ({"type": "text", "text": "hello"}, "hello"),
        (
            {"type": "image", "mimeType": "image/png", "url": "https://x/a.png"},
            [ImageUrl("https://x/a.png", media_type="image/png")],
        ),
        (
            {"type": "video", "mimeType": "video/mp4", "url": "https://x/a"},
            [VideoUrl("https://x/a", media_type="video/mp4")],
        ),
        (
            {
                "type": "audio",
                "mimeType": "audio/wav",
                "data": base64.b64encode(b"abc").decode(),
            },
            [BinaryContent(b"abc", media_type="audio/wav")],
        ),
    ],
)
def test_each_kind_of_input_reaches_the_framework(part: dict[str, Any], content: object) -> None:
    """By URL or as bytes (R036)."""
    assert prompt({"version": "1", "parts": [part]}) == content


def test_several_inputs_become_one_prompt() -> None:
    """In the order of their admission."""
    given = [user_input(text).wire() for text in ("a", "b")]

    assert prompt(*given) == ["a", "b"]
