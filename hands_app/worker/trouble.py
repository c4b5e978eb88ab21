"""What may be told of an error that nobody foresaw: its kind and its place, never its text.

Texts of foreign errors hold what their code had in hand: keys in URLs, values of statements (C82).
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

_FRAMES: Final = 16
_CAUSES: Final = 5


def trouble(error: BaseException) -> str:
    """Return the kind of the error and of what caused it, and where it came from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in reversed(frames)]
    return f"{' from '.join(_kinds(error))} at {' < '.join(places) or 'an unknown place'}"


def _kinds(error: BaseException) -> list[str]:
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < _CAUSES:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return kinds
