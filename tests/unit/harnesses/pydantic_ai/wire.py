"""A provider that speaks the OpenAI wire protocol through the real client library, in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

End = Literal["closed", "reset"]


def _called(place: int, arguments: str, call_id: str | None = None) -> dict[str, Any]:
    """A piece of a call: the first one names it."""
    call: dict[str, Any] = {"index": place, "function": {"arguments": arguments}}
    if call_id is not None:
        call |= {"id": call_id, "type": "function"}
        call["function"]["name"] = "note"
    return {"tool_calls": [call]}


CALLED = (
    {"role": "assistant", "content": "Let"},
    {"content": " me."},
    _called(0, "", "c1"),
    _called(0, '{"text": "a"'),
    _called(0, "}"),
    _called(1, '{"text": "b"}', "c2"),
)
SAID = ({"role": "assistant", "content": "done"},)


def stream(deltas: tuple[dict[str, Any], ...], finish: str) -> bytes:
    """The bytes of a streamed answer."""
    parts: list[dict[str, Any]] = [{"choices": [{"delta": delta}]} for delta in deltas]
    parts[0] |= {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    parts.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    counts = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    parts.append({"choices": [], "usage": counts})
    lines = [f"data: {json.dumps(part, separators=(',', ':'))}\n\n" for part in parts]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


WHOLE_CALLS = stream(CALLED, "tool_calls")
WHOLE_TEXT = stream(SAID, "stop")


@dataclass
class Wire:
    """Gives these answers one after the other: bytes of a stream, or a status."""

    answers: list[bytes | int]
    end: End = "closed"
    requests: list[dict[str, Any]] = field(default_factory=list)

    def model(self, retries: int = 0) -> OpenAIChatModel:
        """The framework's model over the provider's own client."""
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        client = AsyncOpenAI(api_key="any", http_client=http, max_retries=retries)
        return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            headers = {"retry-after-ms": "1"}
            return httpx2.Response(answer, headers=headers, json={"error": {"message": "no"}})
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=self._body(answer))

    async def _body(self, answer: bytes) -> AsyncIterator[bytes]:
        yield answer
        if self.end == "reset" and not answer.endswith(b"[DONE]\n\n"):
            msg = "connection reset"
            raise httpx2.ReadError(msg)
