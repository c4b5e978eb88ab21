"""From text to value: the standard library's C scanner behind bounds that it lacks."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from hands_app.contract.json_limits import SAFE_INTEGER, refuse, refuse_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.json_limits import Limits


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value, whether its texts must be looked at, and how often the decoder put a marker."""

    value: object
    suspect: bool
    replaced: int = 0


def parse(text: bytes | str, limits: Limits, *, lenient: bool = False) -> Parsed:
    """Parse exactly one document within limits; raise `InvalidJson`."""
    source, replaced = _decode(text, limits, lenient=lenient)
    _bound(source, limits)
    value = _scan(source)
    suspect = bool(_ODD_ESCAPE.search(source) or _SURROGATE.search(source))
    return Parsed(value, suspect, replaced)


def _decode(text: bytes | str, limits: Limits, *, lenient: bool) -> tuple[str, int]:
    """Return the text and whether the decoder had to put a marker into it."""
    size = len(text)
    if isinstance(text, str) and not text.isascii() and size <= limits.bytes:
        size = len(text.encode(errors="surrogatepass"))
    if size > limits.bytes:
        refuse("SIZE", f"{size} bytes", f"the limit is {limits.bytes} bytes")
    if isinstance(text, str):
        return text, 0
    try:
        return text.decode(), 0
    except UnicodeDecodeError as error:
        if lenient:
            return text.decode(errors="replace"), 1
        refuse("SYNTAX", f"offset {error.start}", "not UTF-8")


def _bound(source: str, limits: Limits) -> None:
    """Refuse too many levels or keys before the recursive scanner sees them, in flat memory."""
    brackets = source.count("[") + source.count("{")
    if brackets <= limits.depth and source.count(":") <= limits.keys:
        return
    depth = keys = 0
    for outline in _outlines(source):
        keys += outline.count(b":")
        levels = accumulate(map(_STEP.__getitem__, outline.replace(b":", b"")), initial=depth)
        for depth in levels:
            if depth > limits.depth:
                refuse("DEPTH", "the document", f"the limit is {limits.depth} levels")
        if keys > limits.keys:
            refuse("KEYS", "the document", f"the limit is {limits.keys} keys")


def _outlines(source: str) -> Iterator[bytes]:
    """Give the brackets and colons outside of texts, piece by piece."""
    for piece in _PIECES.finditer(source):
        outside = _STRING.sub("", piece[0]).encode(errors="replace")
        yield outside.translate(None, delete=_NO_STRUCTURE)


def _scan(source: str) -> object:
    decoder = _CAREFUL if _ODD_INTEGER.search(source) else _FAST
    try:
        value, end = decoder.raw_decode(source, _after_blanks(source, 0))
    except json.JSONDecodeError as error:
        refuse("SYNTAX", f"offset {error.pos}", error.msg)
    except RecursionError:
        refuse("DEPTH", "the document", "too deep for this call")
    if _after_blanks(source, end) != len(source):
        refuse("SYNTAX", f"offset {end}", "one document only")
    return value


def _after_blanks(source: str, at: int) -> int:
    match = _BLANKS.match(source, at)
    return match.end() if match else at


def _integer(digits: str) -> int:
    if digits == "-0" or len(digits) > _LONGEST_NUMBER or abs(int(digits)) > SAFE_INTEGER:
        refuse_number(digits)
    return int(digits)


def _decimal(token: str) -> float:
    """Return the float whose shortest form names exactly the token's value."""
    if len(token) > _LONGEST_NUMBER:
        refuse_number(token)
    number = float(token)
    if not math.isfinite(number) or (number == 0 and token[0] == "-"):
        refuse_number(token)
    if repr(number) != token and not _names(token, number):
        refuse_number(token)
    return number


def _names(token: str, number: float) -> bool:
    try:
        return Decimal(token) == Decimal(repr(number))
    except InvalidOperation:
        return False


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        refuse("DUPLICATE_KEY", next(key for key in keys if keys.count(key) > 1), "each key once")
    return members


_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PIECES: Final = re.compile(rf"(?:[^\"]++|{_STRING.pattern}){{1,4000}}+", re.DOTALL)
_ODD_INTEGER: Final = re.compile(r"-0|[0-9]{16}")
_ODD_ESCAPE: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER: Final = 64
_STEP: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_STRUCTURE: Final = bytes(set(range(256)) - set(_STEP) - {ord(":")})
_FAST: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_decimal, parse_constant=refuse_number
)
_CAREFUL: Final = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_float=_decimal,
    parse_constant=refuse_number,
    parse_int=_integer,
)
