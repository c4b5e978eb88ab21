"""What a Turn says to the database is counted, so that it does not grow unnoticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection

from sessions_app.contract.status import TurnStatus
from sessions_app.models import Turn
from sessions_app.store import bell
from tests.benchmarks import budget
from tests.benchmarks.budget import BUDGET
from tests.benchmarks.counting import Cost, Operation, Statement, total
from tests.benchmarks.stage import Silence, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stage(database: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Give a host over the empty database; nobody hears its hints."""
    monkeypatch.setattr(bell, "wakeups", Silence)
    made = Stage()
    yield made
    made.close()


def test_a_turn_of_three_steps_keeps_its_budget(stage: Stage) -> None:
    """Submit, claim, load, a commit for each step, and the look for more afterwards."""
    submitted, turn_id = stage.submit(stage.session(), "turn k")

    claim, load, model, tool, finish, look = stage.drive(turn_id)

    assert Turn.objects.get(pk=turn_id).status == TurnStatus.COMPLETED
    budget.hold(
        connection.vendor,
        {
            "submit": submitted.cost,
            "claim": claim.cost,
            "load": load.cost,
            "model step": model.cost,
            "tool step": tool.cost,
            "finish": finish.cost,
            "look": look.cost,
        },
    )


def test_further_steps_cost_the_same_each_time(stage: Stage) -> None:
    """A Turn's length changes nothing about what one more step says."""
    _, turn_id = stage.submit(stage.session(), "turns k")

    _, _, *steps, _, _ = stage.drive(turn_id)

    written = BUDGET[connection.vendor]
    assert [step.cost for step in steps] == [written["model step"], written["tool step"]] * 3


def test_a_second_turn_of_a_thread_costs_what_the_first_did(stage: Stage) -> None:
    """Nor does the Thread's history."""
    session = stage.session()
    first, turn_id = stage.submit(session, "turn k")
    ran = stage.drive(turn_id)

    second, turn_id = stage.submit(session, "turn k")
    again = stage.drive(turn_id)

    assert Turn.objects.filter(status=TurnStatus.COMPLETED).count() == 2
    assert total([second, *again]) == total([first, *ran])


def test_a_difference_says_what_to_write() -> None:
    """Whoever changed the store reads the new line, ready to be copied."""
    with pytest.raises(AssertionError, match=r'(?s) -> \(9, 1\).*"load": Cost\(9, 1\),'):
        budget.hold("sqlite", {"load": Cost(9, 1)})


def test_statements_are_told_apart() -> None:
    """Kind and table are read from the text; BEGIN and COMMIT are round trips only."""
    texts = (
        "BEGIN",
        'SELECT "sessions_app_session"."id" FROM "sessions_app_session" LIMIT 1 FOR NO KEY UPDATE',
        "SELECT durable_now()",
        'UPDATE "sessions_app_turn" SET "status" = \'RUNNING\'',
        "-- Purpose: all from nothing.\nWITH walk AS (SELECT 1 FROM sessions_app_thread t)",
        "COMMIT",
    )

    said = Operation("change", [Statement(text) for text in texts])

    assert (said.count, said.commits, said.round_trips) == (4, 1, 6)
    assert set(said.kinds()) == {"LOCK session", "SELECT clock", "UPDATE turn", "WITH thread"}
