"""Looks at Python values that claim to be JSON, and mends what may be mended."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hands_app.contract.json_limits import SAFE_INTEGER, refuse, refuse_number

if TYPE_CHECKING:
    from hands_app.contract.json_limits import Limits

MARKER: Final = "\ufffd"
"""What stands where a tool or a model produced a NUL character or half a surrogate pair."""


@dataclass(slots=True)
class Findings:
    """What `walk` met that is allowed but needs work."""

    odd_text: bool = False
    whole_floats: bool = False


class _Node(NamedTuple):
    value: object
    depth: int
    parent: _Node | None
    name: object


def walk(value: object, limits: Limits, *, lenient: bool = False) -> Findings:
    """Look at every node without recursion; raise `InvalidJson` with the pointer of a breach.

    The size counts nodes and characters, so that shared or circular parts end too.
    """
    findings = Findings()
    size = keys = 0
    stack = [_Node(value, 0, None, "")]
    while stack:
        node = stack.pop()
        inner = node.value
        size += 1
        if isinstance(inner, str):
            size += len(inner)
            _look_at_text(inner, node, findings, lenient=lenient)
        elif isinstance(inner, dict | list):
            keys += len(inner) if isinstance(inner, dict) else 0
            _bound(node, size + len(inner), keys, limits)
            size += _look_at_keys(inner, node, findings, lenient=lenient)
            stack += _below(node, inner)
        else:
            findings.whole_floats |= _look_at_scalar(inner, node)
    _bound(node, size, keys, limits)
    return findings


def replace_odd_text(value: object) -> tuple[object, int]:
    """Return a copy with `MARKER` for NUL and lone surrogates, and how many texts changed."""
    mender = _Mender()
    return mender.mend(value), mender.replaced


def shorten(value: object) -> object:
    """Return a copy in which every float that is a safe whole number is an integer."""
    match value:
        case dict():
            return {key: shorten(item) for key, item in value.items()}
        case list():
            return [shorten(item) for item in value]
        case float() if _is_whole(value):
            return int(value)
        case _:
            return value


class _Mender:
    def __init__(self) -> None:
        self.replaced = 0

    def mend(self, value: object) -> object:
        match value:
            case str():
                return self._text(value)
            case list():
                return [self.mend(item) for item in value]
            case dict():
                return self._members(value)
            case _:
                return value

    def _text(self, text: str) -> str:
        joined = _PAIR.sub(_join, text)
        better = _ODD_TEXT.sub(MARKER, joined)
        self.replaced += better != text
        return better

    def _members(self, members: dict[str, object]) -> dict[str, object]:
        better: dict[str, object] = {}
        for key, item in members.items():
            name = self._text(key)
            while name != key and (name in better or name in members):
                name += MARKER
            better[name] = self.mend(item)
        return better


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _below(node: _Node, inner: dict[str, object] | list[object]) -> list[_Node]:
    depth = node.depth + 1
    items = inner.items() if isinstance(inner, dict) else enumerate(inner)
    return [_Node(item, depth, node, name) for name, item in items]


def _bound(node: _Node, size: int, keys: int, limits: Limits) -> None:
    if node.depth >= limits.depth and isinstance(node.value, dict | list):
        refuse("DEPTH", _pointer(node), f"the limit is {limits.depth} levels")
    if keys > limits.keys:
        refuse("KEYS", _pointer(node), f"the limit is {limits.keys} keys")
    if size > limits.bytes:
        refuse("SIZE", _pointer(node), f"the limit is {limits.bytes} bytes")


def _look_at_text(text: str, node: _Node, findings: Findings, *, lenient: bool) -> None:
    if (text.isascii() and "\0" not in text) or not _ODD_TEXT.search(text):
        return
    if not lenient:
        kind = "NUL" if "\0" in text else "SURROGATE"
        refuse(kind, _pointer(node), "leave it out or replace it")
    findings.odd_text = True


def _look_at_keys(
    members: dict[object, object] | list[object],
    node: _Node,
    findings: Findings,
    *,
    lenient: bool,
) -> int:
    size = 0
    for key in members if isinstance(members, dict) else ():
        if not isinstance(key, str):
            refuse("TYPE", _pointer(node), f"keys are texts, not {type(key).__name__}")
        _look_at_text(key, node, findings, lenient=lenient)
        size += len(key)
    return size


def _look_at_scalar(value: object, node: _Node) -> bool:
    """Refuse what is no JSON scalar; say whether it is a float with a shorter whole form."""
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, int):
        if abs(value) > SAFE_INTEGER:
            refuse("NUMBER", _pointer(node), "beyond 2^53; send it as a string")
        return False
    if not isinstance(value, float):
        refuse("TYPE", _pointer(node), f"no JSON value: {type(value).__name__}")
    if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0):
        refuse_number(f"{_pointer(node)} ({value})")
    return _is_whole(value)


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) <= SAFE_INTEGER


def _pointer(node: _Node | None) -> str:
    """Return the JSON pointer of a node; the root is `/`."""
    names: list[str] = []
    while node is not None and node.parent is not None:
        names.append(str(node.name).replace("~", "~0").replace("/", "~1"))
        node = node.parent
    return "/" + "/".join(reversed(names))


_ODD_TEXT: Final = re.compile("[\x00\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
