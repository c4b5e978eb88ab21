"""A finding, and a look that turns its own failure into one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what was found and, unless it is fine, what to do."""

    name: str
    level: Level
    text: str

    @classmethod
    def judged(cls, name: str, text: str, *, fine: bool, advice: str) -> Finding:
        """A finding that is fine, or else a warning with advice."""
        return cls(name, Level.OK, text) if fine else cls(name, Level.WARNING, f"{text}: {advice}")


def examine(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Give the findings of one look; a failure of the look itself is a finding too."""
    try:
        yield from look()
    except Exception as error:  # noqa: BLE001 # outermost: the next look goes on
        yield Finding(name, Level.FAILURE, f"{type(error).__name__}: {str(error).splitlines()[0]}")
