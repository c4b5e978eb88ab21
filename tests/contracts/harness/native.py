"""Between pydantic-ai's messages and the plain transcript that the suite's provider reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import (
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
)

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import JsonValue, check, loads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sessions_app.harnesses.scripted.model import Reply

Piece = str | DeltaToolCalls | DeltaThinkingCalls
_FIRST = 100  # fragments of one part share a number; calls have the low ones


def transcript(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """The prompt as plain messages, for the same strict reader as the scripted kernel's."""
    return [said for message in messages for said in _said(message)]


def _said(message: ModelMessage) -> Iterator[dict[str, Any]]:
    if isinstance(message, ModelResponse):
        calls = [
            {"id": call.tool_call_id, "name": call.tool_name, "arguments": _arguments(call)}
            for call in message.tool_calls
        ]
        yield {"role": "assistant", "text": message.text or "", "calls": calls}
    else:
        yield from _asked(message)


def _arguments(call: ToolCallPart) -> JsonValue:
    """As the model wrote them, which is a text where no JSON can hold them."""
    if not isinstance(call.args, str):
        return call.args_as_dict()
    try:
        return loads(call.args)
    except InvalidJson:
        return call.args


def _asked(message: ModelRequest) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            yield {
                "role": "tool",
                "call": part.tool_call_id,
                "content": part.content,
                "failed": part.outcome != "success",
            }
        elif isinstance(part, UserPromptPart):
            pieces = [part.content] if isinstance(part.content, str) else part.content
            for piece in pieces:
                yield {"role": "user", "text": piece if isinstance(piece, str) else repr(piece)}


def response(reply: Reply) -> ModelResponse:
    """A reply as the model gives it."""
    parts: list[ModelResponsePart] = [ThinkingPart(reply.thinking)] if reply.thinking else []
    parts += [TextPart(reply.text)] if reply.text else []
    parts += [
        ToolCallPart(call.name, _written(call.arguments or {}), call_id)
        for call, call_id in zip(reply.calls, _ids(reply), strict=True)
    ]
    return ModelResponse(parts=parts)


def _written(arguments: Any) -> Any:
    """A client gives what it parsed, or the text where that holds what strict JSON does not."""
    try:
        return check(arguments)
    except InvalidJson:
        return json.dumps(arguments)


def pieces(reply: Reply) -> Iterator[Piece]:
    """The same reply as a stream of fragments."""
    if reply.thinking:
        yield {_FIRST: DeltaThinkingPart(content=reply.thinking)}
    for start in range(0, len(reply.text), 4):
        yield reply.text[start : start + 4]
    for place, (call, call_id) in enumerate(zip(reply.calls, _ids(reply), strict=True)):
        text = json.dumps(call.arguments or {})
        yield {place: DeltaToolCall(name=call.name, json_args="", tool_call_id=call_id)}
        for start in range(0, len(text), 5):
            yield {place: DeltaToolCall(json_args=text[start : start + 5])}


def _ids(reply: Reply) -> list[str]:
    return [call.id or f"call_{place}" for place, call in enumerate(reply.calls, start=1)]
