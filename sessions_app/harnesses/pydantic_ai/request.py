"""What makes two requests the same: digests without times, ids and what belongs to one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import to_jsonable_python

from hands_app.contract.strict_json import JsonValue, clean, digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

_OF_ONE_PROCESS: Final = frozenset({"timeout", "extra_headers"})
_KEEP: Final = 2


class Fingerprints:
    """Digests of messages, kept while the invocation lasts, so that a long history is dumped once.

    The newest messages are never taken from the memory, since the framework still adds to them.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[int, tuple[ModelMessage, str]] = {}

    def of(self, messages: Sequence[ModelMessage]) -> list[str]:
        """One digest for each message."""
        settled = len(messages) - _KEEP
        return [
            self._remembered(message) if place < settled else fingerprint(message)
            for place, message in enumerate(messages)
        ]

    def _remembered(self, message: ModelMessage) -> str:
        known = self._known.get(id(message))
        if known is None or known[0] is not message:
            known = self._known[id(message)] = (message, fingerprint(message))
        return known[1]


def fingerprint(message: ModelMessage) -> str:
    """Digest of what a message says."""
    (dumped,) = ModelMessagesTypeAdapter.dump_python([message], mode="json", warnings=False)
    said = {
        "kind": dumped["kind"],
        "instructions": dumped.get("instructions"),
        "parts": [
            {name: value for name, value in part.items() if name != "timestamp"}
            for part in dumped["parts"]
        ],
    }
    return digest(clean(said).value)


def normalised(
    messages: Sequence[str], settings: ModelSettings | None, parameters: ModelRequestParameters
) -> JsonValue:
    """The request as JSON that is the same in every process; messages stand as their digests."""
    said = {
        "messages": list(messages),
        "settings": _settings(settings),
        "tools": [_tool(tool) for tool in parameters.function_tools],
        "outputTools": [_tool(tool) for tool in parameters.output_tools],
        "outputMode": parameters.output_mode,
        "textOutput": parameters.allow_text_output,
    }
    return clean(said).value


def _settings(settings: ModelSettings | None) -> dict[str, Any]:
    given = cast("Mapping[str, Any]", settings or {})
    kept = {name: value for name, value in given.items() if name not in _OF_ONE_PROCESS}
    return cast("dict[str, Any]", to_jsonable_python(kept, fallback=_class_name))


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters_json_schema,
    }


def _class_name(value: object) -> str:
    return type(value).__qualname__
