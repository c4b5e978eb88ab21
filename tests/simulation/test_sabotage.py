"""What the simulation would notice: the product is broken in one place, and a seed soon fails."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.play import stage
from tests.simulation.sabotage import SABOTAGES
from tests.simulation.seeds import first_caught

QUICK: Final = (
    "wake_at is set by hand",
    "a sequence is left out",
    "the last Turn runs first",
    "an input stays pending when it was applied",
)
"""Those that the first seeds notice; `make sim ARGS=--sabotage` tries them all."""
SEEDS: Final = 20


@pytest.mark.sqlite
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", QUICK)
def test_a_broken_product_fails_a_seed(database: None, name: str) -> None:
    """Within a few seeds."""
    assert name in SABOTAGES

    with stage() as clock:
        caught = first_caught(clock, name, SEEDS)

    assert caught is not None
