"""Seeds of the simulation that belong to the ordinary suite; `make sim` plays any number."""

from __future__ import annotations

from typing import Final

import pytest
from django.db import connection

from tests.covers import covers, poses
from tests.simulation.play import Tally, play, stage

CHUNKS: Final = 10
ON_SQLITE: Final = 10
ON_POSTGRESQL: Final = 3


@covers("R010", "R033", "R034")
@poses("S2", "S3", "S7")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_answer_and_every_row_is_as_predicted(database: None, chunk: int) -> None:
    """Whatever order things happen in, rows and answers are those of the prediction.

    After each rule; and when all is healed, every Turn has ended or waits for a person.
    """
    seeds = ON_SQLITE if connection.vendor == "sqlite" else ON_POSTGRESQL
    tally = Tally()
    with stage() as clock:
        for seed in range(chunk * seeds, (chunk + 1) * seeds):
            play(clock, seed, tally)

    assert tally.rules["opening"] == seeds
