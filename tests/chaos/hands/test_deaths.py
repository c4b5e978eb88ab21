"""Kill -9 of a Hands worker at each place and in each effect class (C48, I26, I27, I28, law 7)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos.field import TIMEOUT
from tests.chaos.hands import FIGURES, ROUNDS
from tests.chaos.hands.deaths import PLACES, Deaths
from tests.covers import poses

if TYPE_CHECKING:
    from hands_app.ledger.engine import Database
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Workers

TIMES = int(os.environ.get(ROUNDS, "1"))
pytestmark = pytest.mark.timeout(TIMEOUT * TIMES)


@poses("C48", "S10", "S20")
@pytest.mark.parametrize("place", PLACES)
def test_c48_a_death_ends_as_the_effect_class_says(
    workers: Workers, desk: Desk, ledger: Database, oracle: Path, place: str
) -> None:
    """Once at most for `once`, UNKNOWN where nobody can know, and the Turn goes on or waits."""
    deaths = Deaths(workers, desk, ledger, oracle, PLACES[place])
    for _ in range(TIMES):
        deaths.round()
    deaths.verdict()

    _note(place, deaths)


def _note(place: str, deaths: Deaths) -> None:
    """Leave the figures for whoever asked for them."""
    if FIGURES in os.environ:
        line = {"place": place, "rounds": len(deaths.settled), "recovered": deaths.settled}
        with Path(os.environ[FIGURES]).open("a") as figures:
            figures.write(json.dumps(line) + "\n")
