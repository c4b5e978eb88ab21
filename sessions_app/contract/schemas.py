"""Holds a person's answer against the JSON Schema of its tool.

It knows what a type hint can say: `type`, `enum`, `const`, `properties`, `required`,
`additionalProperties`, `items`, `anyOf`, `oneOf`, `allOf`, `$ref`, bounds of numbers, texts and
lists, and `pattern`. Other keywords are left aside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.strict_json import canonical
from sessions_app.contract.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hands_app.contract.strict_json import JsonValue

Schema = Any
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}
_BOUNDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, bound: re.search(bound, value) is not None,
}


def check(value: JsonValue, schema: Mapping[str, JsonValue]) -> None:
    """Raise Invalid for the first place where the value is not what the schema says."""
    for where, why in _breaches(value, schema, schema, "answer"):
        msg = f"{where} {why}"
        raise Invalid(msg)


def _breaches(
    value: JsonValue, schema: Schema, root: Schema, where: str
) -> Iterator[tuple[str, str]]:
    if schema is True or not isinstance(schema, dict):
        if schema is False:
            yield where, "is not wanted"
        return
    if "$ref" in schema:
        yield from _breaches(value, _referred(schema["$ref"], root), root, where)
    if "type" in schema and not _is(value, schema["type"]):
        yield where, f"is not of type {schema['type']}"
        return
    yield from _values(value, schema, where)
    yield from _choices(value, schema, root, where)
    if isinstance(value, dict):
        yield from _members(value, schema, root, where)
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _breaches(item, schema.get("items", True), root, f"{where}[{place}]")


def _is(value: JsonValue, kinds: JsonValue) -> bool:
    names = kinds if isinstance(kinds, list) else [kinds]
    return any(_is_one(value, str(name)) for name in names)


def _is_one(value: JsonValue, name: str) -> bool:
    if isinstance(value, bool) and name in {"integer", "number"}:
        return False
    if isinstance(value, float) and name == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, (object,)))


def _values(value: JsonValue, schema: Schema, where: str) -> Iterator[tuple[str, str]]:
    same = canonical(value)
    if "const" in schema and canonical(schema["const"]) != same:
        yield where, f"is not {schema['const']!r}"
    if "enum" in schema and same not in map(canonical, schema["enum"]):
        yield where, f"is none of {schema['enum']}"
    for keyword, holds in _BOUNDS.items():
        if keyword in schema and _bounded(keyword, value) and not holds(value, schema[keyword]):
            yield where, f"breaks {keyword} {schema[keyword]}"


def _bounded(keyword: str, value: JsonValue) -> bool:
    """Whether a bound is about a value of this type."""
    if keyword.endswith("Items"):
        return isinstance(value, list)
    if keyword.endswith("Length") or keyword == "pattern":
        return isinstance(value, str)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _choices(
    value: JsonValue, schema: Schema, root: Schema, where: str
) -> Iterator[tuple[str, str]]:
    for part in schema.get("allOf", ()):
        yield from _breaches(value, part, root, where)
    for keyword in ("anyOf", "oneOf"):
        parts = schema.get(keyword, ())
        fits = sum(next(_breaches(value, part, root, where), None) is None for part in parts)
        if parts and (fits == 0 or (keyword == "oneOf" and fits > 1)):
            yield where, f"fits {fits} of the {len(parts)} forms that it may have"


def _members(
    value: Mapping[str, JsonValue], schema: Schema, root: Schema, where: str
) -> Iterator[tuple[str, str]]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name}", "is missing"
    for name, member in value.items():
        wanted = known.get(name, schema.get("additionalProperties", True))
        yield from _breaches(member, wanted, root, f"{where}.{name}")


def _referred(name: str, root: Schema) -> Schema:
    """What `#/$defs/Name` stands for; anything, where nothing is there."""
    found = root
    for word in name.removeprefix("#/").split("/"):
        found = found.get(word, {}) if isinstance(found, dict) else {}
    return found
