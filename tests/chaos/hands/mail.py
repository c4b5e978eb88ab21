"""What a broker may do to envelopes, in both directions, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.chaos.hands.desk import Mail

if TYPE_CHECKING:
    from collections.abc import Callable

SEED: Final = 44
PASSING: Final = 6
"""Looks for which a fault lasts that would otherwise leave nothing through for ever."""


@dataclass
class Dropping(Mail):
    """Loses one envelope in two, and says that it was taken."""

    draw: random.Random = field(default_factory=lambda: random.Random(SEED))  # noqa: S311 - a plan

    def send(self, deliver: Callable[[], bool]) -> bool:
        """Deliver it, or only say so."""
        return deliver() if self.draw.random() < 0.5 else True

    def bring(self, envelopes: list[str]) -> list[str]:
        """Give some of them."""
        return [each for each in envelopes if self.draw.random() < 0.5]


class Doubling(Mail):
    """Brings everything three times."""

    def send(self, deliver: Callable[[], bool]) -> bool:
        """Deliver it three times."""
        return all([deliver(), deliver(), deliver()])

    def bring(self, envelopes: list[str]) -> list[str]:
        """Give them three times, one series after the other."""
        return envelopes * 3


@dataclass
class Shuffling(Mail):
    """Keeps envelopes back and brings them in another order."""

    draw: random.Random = field(default_factory=lambda: random.Random(SEED))  # noqa: S311 - a plan
    waiting: list[Callable[[], bool]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def send(self, deliver: Callable[[], bool]) -> bool:
        """Keep it until all have been handed over."""
        self.waiting.append(deliver)
        return True

    def sent(self) -> None:
        """Deliver what was kept, in another order."""
        self.draw.shuffle(self.waiting)
        while self.waiting:
            self.waiting.pop()()

    def bring(self, envelopes: list[str]) -> list[str]:
        """Give half of what is there, from anywhere."""
        self.kept += envelopes
        self.draw.shuffle(self.kept)
        half = (len(self.kept) + 1) // 2
        taken, self.kept = self.kept[:half], self.kept[half:]
        return taken


@dataclass
class Emptying(Mail):
    """Loses all that lies in any queue, again and again, for a while."""

    forget: Callable[[], object]
    left: int = PASSING

    def sent(self) -> None:
        """Empty all queues right after something was put into them."""
        if self.left:
            self.left -= 1
            self.forget()


@dataclass
class Holding(Mail):
    """Keeps a copy of every envelope that leaves, to be delivered once more when asked."""

    copies: list[Callable[[], bool]] = field(default_factory=list)
    swallows: bool = False

    def send(self, deliver: Callable[[], bool]) -> bool:
        """Deliver it unless it is to be swallowed, and keep a copy."""
        self.copies.append(deliver)
        return True if self.swallows else deliver()

    def release(self) -> None:
        """Deliver every copy."""
        for deliver in self.copies:
            assert deliver()
