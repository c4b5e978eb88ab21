"""Playing a seed: rules drawn one after the other, then healing, then the whole checker."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final
from unittest import mock

from sessions_app.store import bell
from sessions_app.store.invariants import check
from tests.databases import empty_tables, forget_state
from tests.simulation import agents, looks
from tests.simulation.clockwork import TICK, Clock, counted, standing_still
from tests.simulation.heal import heal
from tests.simulation.predict.state import Disagreement
from tests.simulation.rules import RULES
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RULES_PER_SEED: Final = 80
_DRAWS: Final = 50
OPENING: Final = "opening"
_NAMES: Final = list(RULES)
_WEIGHTS: Final = [weight for _, weight in RULES.values()]

Place = tuple[int, str]
"""Number of a draw, and the rule that it gave."""


class Failure(Exception):
    """A seed that failed, with what was done."""

    def __init__(
        self, seed: int, steps: list[str], places: list[Place], why: BaseException
    ) -> None:
        lines = [f"seed {seed}", *steps, str(why), f'repeat with: make sim ARGS="--seed {seed}"']
        super().__init__("\n".join(lines))
        self.seed, self.steps, self.places, self.why = seed, steps, places, why


@dataclass
class Tally:
    """How often each rule was played, and each answer given."""

    rules: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)


@contextmanager
def stage() -> Iterator[Clock]:
    """Prepare this process for any number of runs."""
    clock = Clock()
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with standing_still(clock):
            yield clock
    finally:
        logging.disable(disabled)


def play(clock: Clock, seed: int, tally: Tally, places: Iterable[Place] | None = None) -> None:
    """Play a seed, or just these places of it; raises Failure."""
    run = Run(clock, seed, tally)
    with opened(run):
        try:
            if places is None:
                run.draw()
            else:
                run.replay(places)
            run.finish()
        except Exception as error:  # outermost: of a run
            raise Failure(seed, run.steps, run.places, error) from error


@contextmanager
def opened(run: Run) -> Iterator[None]:
    """Empty tables, count ids from one, and end what the run has left over."""
    with counted(), run.beginning():
        yield


class Run:
    """One seed."""

    def __init__(self, clock: Clock, seed: int | str, tally: Tally) -> None:
        self.seed = seed
        self.steps: list[str] = []
        self.places: list[Place] = []
        self._clock = clock
        self._tally = tally

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Begin with empty tables, and end with nothing left over."""
        empty_tables()
        forget_state()
        self._clock.reset()
        agents.brain_of.clear()
        self.world = World(self._clock)
        with mock.patch.object(bell, "wakeups", return_value=self.world.hints):
            try:
                yield
            finally:
                for brain in self.world.brains:
                    brain.die()

    def draw(self) -> None:
        """Play rules as the seed draws them."""
        number = 0
        self._play(number, OPENING)
        while len(self.places) < RULES_PER_SEED:
            number += 1
            rng = Random(f"{self.seed}/{number}")  # noqa: S311 - not a secret
            for name in rng.choices(_NAMES, _WEIGHTS, k=_DRAWS):
                if self._play(number, name):
                    break

    def replay(self, places: Iterable[Place]) -> None:
        """Play these rules with the draws that they had, those that still can be played."""
        for number, name in places:
            self._play(number, name)

    def _play(self, number: int, name: str) -> bool:
        rng = Random(f"{self.seed}/{number}/{name}")  # noqa: S311 - not a secret
        return self.play(number, name, rng)

    def play(self, number: int, name: str, rng: Random) -> bool:
        """Play one rule, if it can be played now, and look at everything."""
        rule, _ = RULES[name]
        self.world.pass_time(TICK)
        self.steps.append(f"{number:4} {name} ...")
        self.places.append((number, name))
        said = rule(self.world, rng)
        if said is None:
            self.steps.pop()
            self.places.pop()
            return False
        self.steps[-1] = f"{number:4} {name}: {said}"
        self._tally.rules[name] += 1
        looks.everything(self.world)
        return True

    def finish(self) -> None:
        """Heal, and ask the whole checker."""
        self.steps.append("     heal")
        heal(self.world, Random(f"{self.seed}/heal"))  # noqa: S311 - not a secret
        report = check(quiet=True)
        if report.breaches:
            raise Disagreement("; ".join(map(str, report.breaches[:5])))
        self._tally.answers.update(self.world.answers)
        self._tally.ends.update(
            f"{turn['status']} {turn['reason'] or ''}".strip()
            for turn in self.world.expected.turns.values()
        )
