"""Hints carry no truth: without a broker the Brain's own scans lead to the same end (I44)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.chaos.brokers import absent_of_leg
from tests.chaos.field import NAMESPACE, TIMEOUT, Field
from tests.chaos.final import final_state, seeded_plan
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.chaos.field import Plan
    from tests.stores import Store

TURNS: Final = 50
SEED: Final = 44

pytestmark = pytest.mark.timeout(TIMEOUT)
BOUNDED: Final = 5.0
HINTED: Final = "hinted"


@pytest.fixture
def alone(store: Store, state_dir: Path) -> Iterator[Field]:
    """Give the means to start workers whose broker was never there."""
    made = Field(store, state_dir, absent_of_leg(state_dir))
    yield made
    made.close()


def _plan() -> Plan:
    return seeded_plan(SEED, TURNS)


def _with_hints(field: Field) -> dict[str, Any]:
    """What the same seed comes to while hints arrive."""
    brain = field.brain()
    field.is_ready(brain)
    field.submit(_plan(), HINTED)
    field.all_end(TURNS, HINTED)
    assert "sessions_app.advance" in field.log(brain)
    assert field.farm.stop(brain) == 0, field.log(brain)
    for seen in field.folder.glob("seen-*"):
        seen.unlink()
    return final_state(HINTED, field.effects())


@poses("C4")
def test_i44_fifty_turns_complete_with_a_broker_that_was_never_there(alone: Field) -> None:
    """Stopped before the worker starts: submits are quick, 50 Turns end by scans (C4, I44)."""
    brain = alone.brain()

    took = alone.submit(_plan())

    alone.all_end(TURNS)
    assert max(took) < BOUNDED
    assert alone.farm.stop(brain) == 0, alone.log(brain)
    alone.verdict()


def test_i44_a_broker_that_stops_in_mid_run_changes_no_outcome(crowd: Field) -> None:
    """The same seed ends in the same rows with all hints and with the rest of them lost (I44)."""
    expected = _with_hints(crowd)
    brain = crowd.brain()
    crowd.is_ready(brain)
    crowd.hold()
    first, rest = _plan()[: TURNS // 2], _plan()[TURNS // 2 :]
    crowd.submit([("held", "hold"), *first])
    crowd.holds()

    crowd.broker.vanish()
    crowd.let_go()
    took = crowd.submit(rest)

    crowd.all_end(TURNS + 1)
    found = final_state(NAMESPACE, crowd.effects())
    del found["held r1"]
    assert found == expected
    assert max(took) < BOUNDED
    assert crowd.farm.stop(brain) == 0, crowd.log(brain)
    crowd.verdict()
