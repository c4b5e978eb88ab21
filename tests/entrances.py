"""Where data come into the house, and shapes that no entrance may choke on (C13 to C17).

One table: every test of these cases takes its entrances from here, and a name without a door fails.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

PEOPLE: Final = (
    "submit",
    "submit as content",
    "steer",
    "inject",
    "respond with a result",
    "respond with a reason",
    "set aside",
    "signal",
    "standing rule",
    "actor of a control",
    "command line",
    "command line, steer",
    "repair of a transcript",
)
"""What a person or a program sends is refused, and nothing of it is written."""

JSON_OF_PEOPLE: Final = ("respond with a result", "signal")
"""Those that take any JSON value."""

MODELS_AND_TOOLS: Final = (
    "text of a model",
    "thinking of a model",
    "arguments from a model",
    "name of a tool from a model",
    "result of a tool",
    "keys of a result",
    "error of a tool",
)
"""What cannot be asked again is mended with a marker, or becomes an error result."""

TEXTS_OF_JSON: Final = ("update from Hands", "command to Hands", "control to Hands")
"""Those that read a document: one root, each key once, bounded."""

ODD_TEXTS: Final = {
    "NUL": "a\x00b",
    "half a pair": "a\ud83cb",
    "the other half": "\udf78",
    "a pair as two halves, swapped": "\udf78\ud83c",
}
ODD_NUMBERS: Final = {
    "2^53 + 1": 2**53 + 1,
    "1e400": math.inf,
    "-0": -0.0,
    "NaN": math.nan,
    "minus 2^53 - 1": -(2**53) - 1,
}
GOOD_NUMBERS: Final = {"1.0": 1.0, "0.1": 0.1, "2^53": 2**53, "1e22": 1e22}

DOUBLE_KEYS: Final = {
    "at the root": '{"input":"a","input":"b"}',
    "three levels deep": '{"a":[{"b":{"c":1,"c":2}}]}',
    "told apart by an escape": '{"a":1,"\\u0061":2}',
    "two roots": '{"a":1}{"a":1}',
}


@cache
def deep(levels: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


DEEP: Final = (101, 1_000, 20_000, 200_000)
"""Levels, all above the limit."""


@cache
def large(kind: str) -> Any:
    """A value above the limits of size or of keys."""
    return "x" * 10_000_000 if kind == "10 MB of text" else dict.fromkeys(map(str, range(10**6)), 0)


LARGE: Final = ("10 MB of text", "a million keys")
