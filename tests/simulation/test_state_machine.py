"""The same rules drawn by hypothesis, which cuts a failing run down to what it fails by."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.simulation.play import Run, Tally, opened, stage
from tests.simulation.rules import RULES

if TYPE_CHECKING:
    from random import Random

    from tests.simulation.clockwork import Clock

RULES_A_RUN: Final = 60
RUNS: Final = 3


class Simulation(RuleBasedStateMachine):
    """One run; every rule may be played at any time, and does nothing where it cannot."""

    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._number = 0
        self.run = Run(self.clock, "hypothesis", Tally())
        self._stack.enter_context(opened(self.run))

    @initialize(rng=st.randoms(use_true_random=False))
    def begin(self, rng: Random) -> None:
        """Begin with one Session, two Threads and three Turns."""
        self.play("opening", rng)

    def play(self, name: str, rng: Random) -> None:
        """Play one rule and look at everything."""
        self._number += 1
        self.run.play(self._number, name, rng)

    def teardown(self) -> None:
        """Heal, ask the whole checker, and put everything away."""
        try:
            if self._number:
                self.run.finish()
        finally:
            self._stack.close()


def _playing(name: str) -> Any:
    def played(self: Simulation, rng: Random) -> None:
        self.play(name, rng)

    played.__name__ = name
    return rule(rng=st.randoms(use_true_random=False))(played)


for _name, (_, _weight) in RULES.items():
    if _weight:
        setattr(Simulation, f"rule_{_name}", _playing(_name))


@pytest.mark.timeout(300)
def test_no_run_of_the_state_machine_finds_a_difference(database: None) -> None:
    """Rows and answers are those of the prediction, whichever rules hypothesis draws."""
    chosen = settings(
        max_examples=RUNS,
        stateful_step_count=RULES_A_RUN,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    with stage() as clock:
        Simulation.clock = clock
        run_state_machine_as_test(Simulation, settings=chosen)
