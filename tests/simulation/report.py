"""What became of some seeds, in a form that passes between processes, and its table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

ANSWERS: Final = (
    "CLOSED",
    "CONFLICT",
    "CURSOR_EXPIRED",
    "INVALID",
    "WRONG_ANSWER",
    "LOST",
    "NOT_FOUND",
    "OWNERSHIP_LOST",
    "STALE",
    "UNAVAILABLE",
    "claimed",
    "committed fail",
    "committed finish",
    "committed go",
    "committed hand-over",
    "committed park",
    "nothing to claim",
    "renewal renewed",
    "renewal superseded",
    "update applied",
    "update duplicate",
    "update foreign",
    "update gap",
    "update late",
    "update refused",
)
"""Every answer that has to be given to somebody in a long run."""


@dataclass(frozen=True)
class Failed:
    """A seed that failed: what was done, and what was wrong then."""

    seed: int
    steps: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        """For a terminal."""
        return "\n".join([f"seed {self.seed} failed", *self.steps, self.why])


@dataclass
class Chunk:
    """The outcome of some seeds."""

    seeds: int = 0
    known: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    failures: list[Failed] = field(default_factory=list)


class Totals(Chunk):
    """The sum over all chunks."""

    def add(self, other: Chunk) -> None:
        """Add a chunk."""
        self.seeds += other.seeds
        self.known = other.known
        self.rules += other.rules
        self.answers += other.answers
        self.ends += other.ends

    def missing(self) -> list[str]:
        """Rules that were never played, and answers that nobody ever got."""
        unplayed = [name for name in self.known if not self.rules[name]]
        return unplayed + [name for name in ANSWERS if not self.answers[name]]

    def table(self) -> str:
        """How often each rule was played and each answer given, and where the Turns ended."""
        parts = (("rule", self.rules), ("answer", self.answers), ("Turn at the end", self.ends))
        return "\n".join(
            f"{title:<16}{name:<28}{count:>9}"
            for title, counter in parts
            for name, count in sorted(counter.items())
        )
