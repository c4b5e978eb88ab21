"""Kill -9 of a Brain: one Turn, one result, nothing asked or done twice (C2, law 1, law 6)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.crash import FIGURES, ROUNDS
from tests.acceptance.crash.rounds import PLACES, Crashes

if TYPE_CHECKING:
    from tests.stores import Store


@pytest.mark.timeout(180)
@pytest.mark.parametrize("place", PLACES)
def test_a_turn_survives_the_death_of_its_brain(store: Store, state_dir: Path, place: str) -> None:
    """A standby carries the Turn on from what was committed; a `once` tool ends UNKNOWN instead."""
    with Crashes(store, state_dir, place) as crashes:
        for _ in range(int(os.environ.get(ROUNDS, "1"))):
            crashes.round()
    crashes.verdict()

    _note(crashes)
    assert all(seconds < 10 for seconds in crashes.recovered)


def _note(crashes: Crashes) -> None:
    """Leave the figures for whoever asked for them."""
    if FIGURES in os.environ:
        line = {"place": crashes.place, "rounds": crashes.rounds, "recovered": crashes.recovered}
        with Path(os.environ[FIGURES]).open("a") as figures:
            figures.write(json.dumps(line) + "\n")
