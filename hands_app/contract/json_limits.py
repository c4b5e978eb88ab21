"""How large a JSON document may be, and how one is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

from hands_app.contract.errors import InvalidJson

SAFE_INTEGER: Final = 2**53
"""Integers beyond this magnitude are rounded by JavaScript, so they travel as strings."""

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one document: UTF-8 bytes, nesting levels, object keys in all."""

    bytes: int = 8 * 1024 * 1024
    depth: int = 100
    keys: int = 100_000


DEFAULT: Final = Limits()
ENVELOPE: Final = Limits(bytes=1024 * 1024)
"""What travels between the houses (R192)."""
OBJECT: Final = Limits(bytes=64 * 1024 * 1024, keys=1_000_000)
"""What the object store holds, and so the largest body there is (R245)."""


def refuse(reason: str, where: str, advice: str) -> NoReturn:
    """Raise `InvalidJson` with at most a short piece of the caller's own text."""
    shown = where if len(where) <= _SHOWN else f"{where[:_SHOWN]}..."
    raise InvalidJson(reason, shown.encode(errors="backslashreplace").decode(), advice)


def refuse_number(token: str) -> NoReturn:
    """Refuse a number that would not keep its value on the way."""
    refuse("NUMBER", token, "it would change on the way; send it as a string")
