"""What of the scripted kernel becomes public or counted: the answer and the facts of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.strict_json import JsonValue, digest
from sessions_app.contract.backend import ModelCallFacts, text_part

if TYPE_CHECKING:
    from sessions_app.harnesses.scripted.model import Message, Transcript

MODEL: Final = "scripted"


def answer(reply: Message) -> JsonValue:
    """The Turn's public result (R076)."""
    return {"parts": [text_part(reply["text"])]}


def facts(
    ordinal: int, request: JsonValue, transcript: Transcript, reply: Message
) -> ModelCallFacts:
    """What was observed of one request; words stand for tokens."""
    return ModelCallFacts(
        ordinal=ordinal,
        request_digest=digest(request),
        model=MODEL,
        input_tokens=sum(_words(message) for message in transcript),
        output_tokens=_words(reply),
    )


def _words(message: dict[str, Any]) -> int:
    return len(str(message.get("text") or message.get("content") or "").split())
