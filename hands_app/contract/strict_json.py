"""The one strict JSON loader, canonical form and digest, for every entrance of both houses.

Refused are second roots, duplicate keys, numbers that would change in canonical form, depth and
size beyond limits of our own, NUL characters and lone surrogates. Tools and models, which cannot
be asked again, come in by the lenient pair, which replaces the last two by `MARKER` and says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, cast

from pydantic import JsonValue

from hands_app.contract import json_text, json_value
from hands_app.contract.json_limits import (
    DEFAULT,
    ENVELOPE,
    OBJECT,
    SAFE_INTEGER,
    Limits,
    refuse,
)
from hands_app.contract.json_value import MARKER

__all__ = [
    "DEFAULT",
    "ENVELOPE",
    "MARKER",
    "OBJECT",
    "SAFE_INTEGER",
    "Cleaned",
    "JsonValue",
    "Limits",
    "canonical",
    "check",
    "clean",
    "digest",
    "loads",
    "loads_lenient",
]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A lenient result: the value, and how many texts had something replaced by `MARKER`."""

    value: JsonValue
    replaced: int

    @property
    def changed(self) -> bool:
        """Whether the value differs from what was produced."""
        return self.replaced > 0


def loads(text: bytes | str, *, limits: Limits = DEFAULT) -> JsonValue:
    """Read one strict JSON document (design section 10, C13 to C17).

    Raises:
        InvalidJson: what is wrong and where; nothing of the document was kept.

    """
    parsed = json_text.parse(text, limits)
    if parsed.suspect:
        json_value.walk(parsed.value, limits)
    return cast("JsonValue", parsed.value)


def loads_lenient(text: bytes | str, *, limits: Limits = DEFAULT) -> Cleaned:
    """Read one document of a tool or model; NUL and lone surrogates become `MARKER`.

    Bytes that are no UTF-8 become `MARKER` too; everything else is as strict as `loads`.
    """
    parsed = json_text.parse(text, limits, lenient=True)
    if not parsed.suspect:
        return Cleaned(cast("JsonValue", parsed.value), parsed.replaced)
    value, replaced = json_value.replace_odd_text(parsed.value)
    return Cleaned(cast("JsonValue", value), parsed.replaced + replaced)


def check(value: object, *, limits: Limits = DEFAULT) -> JsonValue:
    """Return a Python value that never was text if it is strict JSON.

    Raises:
        InvalidJson: the first breach, with its JSON pointer.

    """
    json_value.walk(value, limits)
    return cast("JsonValue", value)


def clean(value: object, *, limits: Limits = DEFAULT) -> Cleaned:
    """Check a value of a tool or model; NUL and lone surrogates become `MARKER` in a copy.

    Keys that become equal are told apart by further markers, so that no member is lost.
    """
    if not json_value.walk(value, limits, lenient=True).odd_text:
        return Cleaned(cast("JsonValue", value), 0)
    better, replaced = json_value.replace_odd_text(value)
    return Cleaned(cast("JsonValue", better), replaced)


def canonical(value: object, *, limits: Limits = DEFAULT) -> bytes:
    """Return the one UTF-8 form of a JSON value: keys by code point, no spaces, shortest numbers.

    Equal values have equal forms in every process, and `1.0` is `1` (I17). `loads` of the form
    gives the value back.
    """
    if json_value.walk(value, limits).whole_floats:
        value = json_value.shorten(value)
    form = _ENCODER.encode(value).encode()
    if len(form) > limits.bytes:
        refuse("SIZE", f"{len(form)} bytes", f"the limit is {limits.bytes} bytes")
    return form


def digest(value: object, *, limits: Limits = DEFAULT) -> str:
    """Return `sha256:<hex>` over the canonical form of a JSON value."""
    return f"sha256:{sha256(canonical(value, limits=limits)).hexdigest()}"


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
