"""Where calls and results stand in a stored message of pydantic-ai."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.messages import ModelRequest, ToolCallPart

from sessions_app.contract.transcript import Mark
from sessions_app.harnesses.pydantic_ai import codec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Native
    from sessions_app.contract.transcript import Added, Message
    from sessions_app.harnesses.journal import Progress

_CALLS: Final = frozenset({"tool-call"})  # what a provider runs by itself stands beside its result
_RESULTS: Final = frozenset({"tool-return", "retry-prompt"})


class PydanticAIGrammar:
    """See `Grammar`. A mark for each part of a message."""

    envelope = codec.ENVELOPE

    def progress(self, native: Native) -> Progress:
        """See `Grammar`."""
        return codec.progress(native)

    def marks(self, stored: Any) -> Message:  # noqa: ANN401 - private to the kernel
        """See `Grammar`."""
        return tuple(_mark(part) for part in stored["parts"])

    def only(self, stored: Any, marks: Sequence[int]) -> JsonValue:  # noqa: ANN401 - as above
        """See `Grammar`."""
        return {**stored, "parts": [stored["parts"][place] for place in marks]}

    def not_executed(self, missing: Added) -> JsonValue:
        """See `Grammar`."""
        call = ToolCallPart(missing.name, tool_call_id=missing.call_id)
        (dumped,) = codec.dump([ModelRequest(parts=[codec.not_executed(call)])])
        return dumped


def _mark(part: dict[str, Any]) -> Mark:
    kind, name = part["part_kind"], part.get("tool_name")
    if kind in _CALLS:
        return Mark("call", part["tool_call_id"], name or "")
    if kind in _RESULTS and name is not None:  # a retry of no tool is words for the model
        return Mark("result", part["tool_call_id"], name)
    return Mark("words")
