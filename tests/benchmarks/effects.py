"""A log outside every engine: what really ran, when, and in which process.

Every driver writes to it, ours and the peers', so this file knows no package beside Python.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = "BENCH_FOLDER"
"""The environment variable that names the folder of the log."""

_PATIENCE: Final = 150.0
_LOOK: Final = 0.002


class Effect(NamedTuple):
    """One line of the log."""

    what: str
    key: str
    number: int
    pid: int
    at: float


def note(what: str, key: str, number: int = 0) -> None:
    """Add one whole line, whoever else writes."""
    line = f"{what} {key} {number} {os.getpid()} {time.time():.6f}\n"
    with _log().open("ab", buffering=0) as log:
        log.write(line.encode())


def noted(what: str, key: str) -> list[Effect]:
    """What was noted under this key, in order."""
    log = _log()
    lines = log.read_text().splitlines() if log.exists() else []
    found = (_effect(line) for line in lines)
    return [effect for effect in found if (effect.what, effect.key) == (what, key)]


def until(what: str, key: str, count: int = 1) -> list[Effect]:
    """Wait until so much was noted; each note has its own time, so that looking costs nothing."""
    deadline = time.monotonic() + _PATIENCE
    while len(found := noted(what, key)) < count:
        if time.monotonic() > deadline:
            msg = f"{what} {key}: {len(found)} of {count} within {_PATIENCE:.0f} s"
            raise TimeoutError(msg)
        time.sleep(_LOOK)  # the notes have their own times: looking adds nothing
    return found


def clear() -> None:
    """Begin with an empty log."""
    _log().unlink(missing_ok=True)


def folder() -> Path:
    """Where measured processes leave what they saw."""
    return Path(os.environ[FOLDER])


def _log() -> Path:
    return folder() / "effects.log"


def _effect(line: str) -> Effect:
    what, key, number, pid, at = line.split()
    return Effect(what, key, int(number), int(pid), float(at))
