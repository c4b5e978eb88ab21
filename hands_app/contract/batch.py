"""Batches: one call of the model that stands for many, of one tool or of several (R203 to R205).

The manifest is the call itself: a frozen binding that names mode, bound and the bindings of the
tools, and arguments that list the children. So it is authorised, digested and kept as a whole.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.binding import (
    ApprovalPolicy,
    BatchMode,
    BatchPolicy,
    EffectClass,
    ToolBinding,
)
from hands_app.contract.errors import InvalidArguments
from hands_app.contract.ids import execution_id
from hands_app.contract.strict_json import canonical
from hands_app.contract.tool_schema import read_signature
from hands_app.contract.tools import Tool, ToolContext

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

MAX_CHILDREN: Final = 200
"""Children of one batch."""

_STRICTEST: Final = (
    EffectClass.READ,
    EffectClass.IDEMPOTENT,
    EffectClass.QUERYABLE,
    EffectClass.ONCE,
)


@dataclass(frozen=True, slots=True)
class ChildCall:
    """One line of a manifest; `call_id` tells it from its siblings."""

    ordinal: int
    call_id: str
    binding: ToolBinding
    arguments: dict[str, JsonValue] = field(repr=False)


def batch(
    *tools: Tool,
    name: str,
    mode: BatchMode | str = BatchMode.PARALLEL,
    bound: int = 4,
    version: str = "1",
    description: str = "",
) -> Tool:
    """Make one tool that runs many calls of `tools`, each an execution of its own.

    Args:
        *tools: all on one route, none a batch. With one tool the model gives `items`, a list of
            its arguments; with several it gives `calls`, a list of `tool` and `arguments`.
        name: what the model calls it.
        mode: `ordered`: one after the other, and none behind the first that is not COMPLETED;
            `parallel`: at most `bound` at once, whatever becomes of the others.
        bound: children of a parallel batch under way at once, 1 to 100.
        version: of the binding.
        description: what the model is told; without one the tools' own descriptions.

    Raises:
        ValueError: the tools cannot be in one batch.
    """
    policy = BatchPolicy(
        mode=BatchMode(mode), bound=bound, tools=tuple(tool.binding for tool in tools)
    )
    told = "\n".join(f"{tool.name}: {tool.binding.description}" for tool in tools)
    strict = ApprovalPolicy.ALWAYS
    asks = any(tool.binding.approval is strict for tool in tools)
    binding = ToolBinding(
        name=name,
        version=version,
        description=description or f"Run many calls in one, {policy.mode}.\n{told}",
        parameters=_schema([tool.binding for tool in tools]),
        route=tools[0].binding.route if tools else "hands",
        effect=max((tool.binding.effect for tool in tools), key=_STRICTEST.index, default="once"),  # type: ignore[arg-type]
        approval=strict if asks else ApprovalPolicy.NEVER,
        batch=policy,
    )
    return Tool(_never, binding, read_signature(_never, ToolContext), True, children=tools)  # noqa: FBT003 - effect chosen


def children(binding: ToolBinding, arguments: dict[str, JsonValue]) -> tuple[ChildCall, ...]:
    """Read the manifest of a batch; raise InvalidArguments for one that cannot be read.

    The arguments of each child are held against its own schema when it runs.
    """
    policy = binding.batch
    if policy is None:
        return ()
    single = policy.tools[0] if len(policy.tools) == 1 else None
    listed = arguments.get("items" if single else "calls")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_CHILDREN or len(arguments) > 1:
        what = "`items`" if single else "`calls`"
        message = f"give only {what}, a list of 1 to {MAX_CHILDREN}"
        raise InvalidArguments(message)
    known = {each.name: each for each in policy.tools}
    return tuple(_child(at, entry, single, known) for at, entry in enumerate(listed))


def child_id(batch_id: str, ordinal: int) -> str:
    """Return the execution id of a child, the same in every process."""
    return execution_id(batch_id, "batch", ordinal)


def _child(
    at: int, entry: JsonValue, single: ToolBinding | None, known: dict[str, ToolBinding]
) -> ChildCall:
    if not isinstance(entry, dict):
        message = f"entry {at}: give an object"
        raise InvalidArguments(message)
    if single is not None:
        return ChildCall(at, str(at), single, entry)
    binding, arguments = known.get(str(entry.get("tool"))), entry.get("arguments")
    if binding is None or not isinstance(arguments, dict) or len(entry) != len(("tool", "args")):
        message = f"entry {at}: give `tool`, one of {', '.join(known)}, and `arguments`"
        raise InvalidArguments(message)
    return ChildCall(at, str(at), binding, arguments)


def _schema(tools: list[ToolBinding]) -> dict[str, JsonValue]:
    """Describe the manifest to the model; definitions of the tools' schemas move to the root."""
    defs: dict[str, JsonValue] = {}
    parts = [_part(binding, defs) for binding in tools]
    name, item = ("items", parts[0]) if len(parts) == 1 else ("calls", _choice(tools, parts))
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {
            name: {"type": "array", "items": item, "minItems": 1, "maxItems": MAX_CHILDREN}
        },
        "required": [name],
        "additionalProperties": False,
    }
    return {**schema, "$defs": defs} if defs else schema


def _choice(tools: list[ToolBinding], parts: list[JsonValue]) -> JsonValue:
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"tool": {"const": binding.name}, "arguments": part},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
            for binding, part in zip(tools, parts, strict=True)
        ]
    }


def _part(binding: ToolBinding, defs: dict[str, JsonValue]) -> JsonValue:
    """Return a tool's schema whose references lead to the root, under names of its own."""
    mark = sha256(canonical(binding.parameters)).hexdigest()[:8]

    def moved(value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, dict):
            return {
                key: f"#/$defs/{mark}_{inner.removeprefix('#/$defs/')}"
                if key == "$ref" and isinstance(inner, str) and inner.startswith("#/$defs/")
                else moved(inner)
                for key, inner in value.items()
            }
        return [moved(inner) for inner in value] if isinstance(value, list) else value

    whole: dict[str, Any] = moved(binding.parameters)
    for key, inner in whole.pop("$defs", {}).items():
        defs[f"{mark}_{key}"] = inner
    return whole


def _never() -> None:
    """Stand where a tool has its function: the ledger divides a batch, nobody calls it."""
    message = inspect.cleandoc(_never.__doc__ or "")
    raise AssertionError(message)
