"""What of a native run becomes public or counted: texts, the result, the facts of a request.

Hidden thinking is in none of them (R074).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_core import to_jsonable_python

from hands_app.contract.strict_json import JsonValue, clean
from sessions_app.contract.backend import ModelCallFacts, text_part

if TYPE_CHECKING:
    from sessions_app.ports import Attempts


def text(response: ModelResponse) -> str:
    """The visible text of a reply."""
    said = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return str(clean(said).value)


def result(output: Any) -> dict[str, list[JsonValue]]:  # noqa: ANN401 - whatever the agent's output type is
    """The Turn's public result; output of a type other than str is one structured part (R076)."""
    if isinstance(output, str):
        return {"parts": [text_part(str(clean(output).value))]}
    return {"parts": [{"type": "data", "data": clean(to_jsonable_python(output)).value}]}


def spoken(response: ModelResponse) -> tuple[JsonValue, ...]:
    """What of a reply a reader sees at once: its words."""
    said = text(response)
    return (text_part(said),) if said else ()


def answer(response: ModelResponse, output: Any) -> tuple[JsonValue, ...]:  # noqa: ANN401 - as above
    """The message that ends the Turn: its output, behind words said beside an output call (R076).

    Without a call the words are the output's raw form, which it replaces.
    """
    parts = tuple(result(output)["parts"])
    return (*spoken(response), *parts) if response.tool_calls else parts


def facts(
    ordinal: int, request_digest: str, response: ModelResponse, attempts: Attempts
) -> ModelCallFacts:
    """What was observed of one request; counts that the provider did not report are None (R066)."""
    usage = response.usage
    measured = usage.has_values() and not usage.unmeasured_requests
    return ModelCallFacts(
        ordinal=ordinal,
        request_digest=request_digest,
        model=response.model_name or "",
        level=attempts.level,
        requests=attempts.requests or 1 + len(response.failed_attempts or ()),
        input_tokens=usage.input_tokens if measured else None,
        output_tokens=usage.output_tokens if measured else None,
        cached_tokens=usage.cache_read_tokens or None,
        reasoning_tokens=usage.output_reasoning_tokens or None,
    )
