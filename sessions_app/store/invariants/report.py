"""What a check says: breaches with number and place, what was looked at and what was not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Breach:
    """One place where the rows contradict invariant `number`."""

    number: int
    where: str
    text: str

    def __str__(self) -> str:
        """One line for a terminal or a log."""
        return f"I{self.number} {self.where}: {self.text}"


@dataclass(frozen=True, slots=True, order=True)
class Skipped:
    """A part of invariant `number` that could not be looked at, and why."""

    number: int
    why: str

    def __str__(self) -> str:
        """One line for a terminal or a log."""
        return f"I{self.number} not checked: {self.why}"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one check of a whole database."""

    breaches: tuple[Breach, ...]
    checked: tuple[int, ...]
    skipped: tuple[Skipped, ...]
    contradictions: tuple[str, ...] = ()
    """Outcomes that came late and differ from the one that stands: no breach, but for people."""

    @property
    def is_clean(self) -> bool:
        """True when no row contradicts an invariant."""
        return not self.breaches
