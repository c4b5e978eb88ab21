"""What a call to Hands says to both databases is counted, so that it does not grow unnoticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection

from hands_app.contract.catalogue import Catalogue
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Turn
from sessions_app.store import bell
from tests.benchmarks import budget
from tests.benchmarks.crew.scripts import remote
from tests.benchmarks.roundtrip import RoundTrip
from tests.benchmarks.stage import Silence, Stage
from tests.integration.tooling.pool import HOUSE, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.ledger.engine import Database as Ledger


@pytest.fixture
def trip(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[RoundTrip]:
    """Give both houses, empty; nobody hears the Brain's hints."""
    monkeypatch.setattr(bell, "wakeups", Silence)
    stage, pool = Stage(), Pool(ledger, tools=Catalogue([remote]))
    yield RoundTrip(stage, pool, HOUSE)
    pool.close()
    stage.close()


def test_a_round_trip_over_hands_keeps_its_budget(trip: RoundTrip) -> None:
    """From the commit that asks to the result in the transcript, in both houses."""
    turn_id = trip.run()

    assert Turn.objects.get(pk=turn_id).status == TurnStatus.COMPLETED
    brain = {f"hands: {name}": said.cost for name, said in trip.brain.items()}
    ledger = {f"ledger: {name}": said.cost for name, said in trip.hands.items()}
    assert trip.messages == 4  # the command; admitted, started, result
    budget.hold(connection.vendor, {**brain, **ledger})
