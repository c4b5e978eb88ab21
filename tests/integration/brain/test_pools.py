"""Real workers: every pool drives Turns, from hints or from its own scans, and ends in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.status import TurnStatus

if TYPE_CHECKING:
    from tests.integration.brain.farm import Farm


@pytest.mark.parametrize("pool", ["threads", "solo", "prefork"])
def test_every_pool_runs_turns(farm: Farm, pool: str) -> None:
    """Turns complete under each pool without any hint, and the worker ends politely."""
    more = ("-c", "2") if pool == "prefork" else ()
    worker = farm.worker(pool, *more, wait=2 if pool == "prefork" else 1)

    turns = [farm.submit("note say", f"chat-{number}") for number in range(5)]

    for turn_id in turns:
        assert farm.ended(turn_id).status == TurnStatus.COMPLETED
    assert farm.said("note:2") == 5
    assert farm.stop(worker) == 0, farm.site.log(worker)
