"""Identities: a prefix and a UUIDv7 in 26 lower-case Crockford base-32 characters.

Ids of one process sort in the order of their making; ids of executions derive from their call.
"""

from __future__ import annotations

import os
import re
import threading
import time
from hashlib import sha256
from typing import Final

from hands_app.contract.strict_json import canonical

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH: Final = 26
_PREFIX: Final = re.compile(r"[a-z]{2,8}_")
_SHAPE: Final = re.compile(rf"[a-z]{{2,8}}_[0-7][{_ALPHABET}]{{{_LENGTH - 1}}}")


def new_id(prefix: str) -> str:
    """Return a fresh id, for example `new_id("turn_")`; the prefix ends with an underscore."""
    if not _PREFIX.fullmatch(prefix):
        message = f"no id prefix: {prefix!r}; use lower-case letters and a final underscore"
        raise ValueError(message)
    return prefix + _base32(_uuid7())


def execution_id(turn_id: str, call_id: str, ordinal: int) -> str:
    """Return the one id of a call's execution, the same in every replay and process.

    `ordinal` counts calls along the Turn, so ids that a provider re-uses stay apart (C52, I26).
    """
    name = canonical([turn_id, call_id, ordinal])
    return "exe_" + _base32(int.from_bytes(sha256(name).digest()[:16]))


def is_id(text: str, prefix: str) -> bool:
    """Whether the text is a well-formed id of this prefix."""
    return text.startswith(prefix) and _SHAPE.fullmatch(text) is not None


def _base32(number: int) -> str:
    """Spell 128 bits; 26 characters hold 130, so the first is 0 to 7."""
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


_lock = threading.Lock()
_last_tick = 0


def _uuid7() -> int:
    """Return a UUIDv7 whose 12 bits after the version hold fractions of the millisecond."""
    tick = _next_tick()
    random = int.from_bytes(os.urandom(8)) >> 2
    return tick >> 12 << 80 | 0x7 << 76 | (tick & 0xFFF) << 64 | 0b10 << 62 | random


def _next_tick() -> int:
    """Return milliseconds and 4096ths of one, growing with every call in this process."""
    global _last_tick  # noqa: PLW0603 - one clock a process is the point
    millis, rest = divmod(time.time_ns(), 1_000_000)
    with _lock:
        _last_tick = max(_last_tick + 1, millis << 12 | rest * 4096 // 1_000_000)
        return _last_tick
