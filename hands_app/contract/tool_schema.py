"""From a Python signature to the JSON Schema of a tool's arguments, by pydantic."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
)

from hands_app.contract.errors import InvalidArguments
from hands_app.contract.strict_json import JsonValue, check

if TYPE_CHECKING:
    from collections.abc import Callable

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Signature:
    """What a function takes and gives: a model of its arguments, its context, its emptiness.

    `answer` is a JSON Schema of what it returns, if its hint says so.
    """

    model: type[BaseModel]
    context: str | None
    allows_none: bool
    answer: dict[str, JsonValue] | None = None

    def schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the arguments, an object without unknown members."""
        schema = self.model.model_json_schema()
        schema.pop("title", None)
        check(schema)
        return schema

    def validate(self, arguments: dict[str, JsonValue]) -> dict[str, Any]:
        """Return the arguments as the function wants them; raise InvalidArguments."""
        try:
            valid = self.model.model_validate(arguments)
        except ValidationError as error:
            raise InvalidArguments(_explain(error)) from None
        return {name: getattr(valid, name) for name in type(valid).model_fields}


def read_signature(function: Callable[..., Any], context_type: type) -> Signature:
    """Read the type hints of a function; raise TypeError for what no schema can say."""
    hints = _hints(function)
    context: str | None = None
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _VARIADIC or parameter.kind is parameter.POSITIONAL_ONLY:
            message = f"tool {function.__name__}: {parameter} cannot be named in a schema"
            raise TypeError(message)
        if hints.get(name) is context_type:
            context = name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints.get(name, Any), default)
    model = model_of(function.__name__, fields)
    return Signature(model, context, _allows_none(hints), _answer(hints))


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        message = f"tool {function.__name__}: {error}; import types of tools at run time"
        raise TypeError(message) from error


def model_of(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    """Make a model of arguments, without unknown members."""
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    return create_model(name, __config__=config, **fields)


def _allows_none(hints: dict[str, Any]) -> bool:
    """Whether None is a regular return: not when the hint names only other types."""
    if "return" not in hints:
        return True
    returned = hints["return"]
    choices = get_args(returned) if _is_union(returned) else (returned,)
    return any(choice in (None, type(None), Any, object) for choice in choices)


def _answer(hints: dict[str, Any]) -> dict[str, JsonValue] | None:
    """A schema of the return type; None for a type that no schema can name, or for any."""
    if hints.get("return", Any) in (Any, object, None, type(None)):
        return None
    try:
        schema: dict[str, JsonValue] = TypeAdapter(hints["return"]).json_schema()
    except PydanticUserError:
        return None
    return schema


def _is_union(hint: object) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _explain(error: ValidationError) -> str:
    """Name each wrong argument and what was expected, for the model to mend."""
    parts = [
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(parts[:20])
