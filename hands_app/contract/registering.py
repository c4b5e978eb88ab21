"""One tool registered twice: its schema alone in the Brain, all it needs in the worker (R208).

The worker keeps validation, preset parameters and default context; the binding that both register
is the same, and so is its digest. Presets and context stand in no binding, envelope or ledger.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hands_app.contract.binding import ToolBinding
from hands_app.contract.errors import Incompatible
from hands_app.contract.tool_schema import Signature, model_of
from hands_app.contract.tools import Tool


class _AnyArguments(BaseModel):
    """What a process takes that has the schema and not the function."""

    model_config = ConfigDict(extra="allow")


def schema_only(binding: ToolBinding) -> Tool:
    """Return a tool that can be asked for here and runs elsewhere.

    Raises ValueError for a tool of the route `local` or `direct`, which would run nowhere.
    """
    if binding.route in {"local", "direct"}:
        message = f"tool {binding.name} has the route {binding.route}: register its function"
        raise ValueError(message)
    signature = Signature(_AnyArguments, None, binding.allows_none)
    function = partial(_elsewhere, binding.name)
    return Tool(function, binding, signature, effect_chosen=True)


def _elsewhere(name: str, /, **_: Any) -> NoReturn:  # noqa: ANN401 - whatever it is called with
    message = f"tool {name} is registered here by its schema alone"
    raise Incompatible(message)


def preset(tool: Tool, **values: Any) -> Tool:  # noqa: ANN401 - the parameters' own types
    """Return the tool with parameters that the worker gives and no model sees.

    Its binding has the others alone. Raises TypeError for a parameter that the tool does not have
    or a value that is not of its type.
    """
    fields = tool.signature.model.model_fields
    given = {name: _checked(tool, name, value) for name, value in values.items()}
    left = {name: (info.annotation, info) for name, info in fields.items() if name not in given}
    model = model_of(tool.signature.model.__name__, left)
    signature = replace(tool.signature, model=model)
    members = {name: getattr(tool.binding, name) for name in ToolBinding.model_fields}
    binding = ToolBinding.model_validate({**members, "parameters": signature.schema()})
    return replace(
        tool, function=partial(tool.function, **given), binding=binding, signature=signature
    )


def _checked(tool: Tool, name: str, value: object) -> object:
    info = tool.signature.model.model_fields.get(name)
    if info is None:
        message = f"tool {tool.name} has no parameter {name}"
        raise TypeError(message)
    try:
        checked: object = TypeAdapter[Any](info.annotation or Any).validate_python(value)
    except ValidationError:
        message = f"tool {tool.name}: the preset {name} is not of the type of its parameter"
        raise TypeError(message) from None
    return checked


def with_context(tool: Tool, **defaults: Any) -> Tool:  # noqa: ANN401 - the application's own
    """Return the tool with what the worker lets it find in `context.defaults`."""
    return replace(tool, defaults=MappingProxyType({**tool.defaults, **defaults}))
