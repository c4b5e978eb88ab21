"""Who takes a due call from the outbox, and what happens when several meet (S1, S13, S18)."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from hands_app.contract.fault_plan import FaultRaised
from hands_app.contract.faults import plan
from hands_app.contract.messages import parse_execute
from sessions_app.contract.status import CallState
from sessions_app.models import ToolCall
from sessions_app.store import clock
from sessions_app.store.outbox import due
from tests.covers import poses
from tests.integration.tooling.house import SOON, House, fresh
from tests.stores import Gate, in_thread


@pytest.mark.parametrize("place", ["after_lock", "before_commit"])
def test_nothing_leaves_before_the_taking_is_committed(house: House, place: str) -> None:
    """A taking that fails sends nothing and the call stays due."""
    call = house.ask()

    with plan({f"hands.delivery.{place}": "raise"}), pytest.raises(FaultRaised):
        house.dispatch.due()

    assert house.post.take() == []
    assert fresh(call).deliveries == 0
    assert house.carry_commands() == ["new"]


def test_of_two_dispatchers_one_sends(house: House) -> None:
    """Whoever takes second finds nothing due, however the two meet."""
    house.ask()
    gate = Gate()

    with plan({"hands.delivery.after_lock": gate}):
        other = in_thread(house.dispatch.due)
        assert gate.reached.wait(20)
        own = in_thread(house.dispatch.due)
        gate.open()
        sent = other.result(20) + own.result(20)

    assert sent == 1
    assert len(house.post.take()) == 1


@poses("S1")
def test_a_result_that_comes_while_the_call_is_taken_is_not_overwritten(house: House) -> None:
    """The taking looks again under the lock: a call that has just ended sends nothing (S1)."""
    call = house.admitted()
    house.pool.run()
    updates = house.take_updates()

    with clock.offset(SOON):
        found = due(clock.now(), 10)
        for update in updates:
            house.bring(update)
        sent = house.dispatch.due()

    assert [name for name, _ in found] == [call.pk]
    assert sent == 0
    assert fresh(call).state == CallState.COMPLETED


@poses("S13")
@pytest.mark.postgresql
def test_a_session_that_is_held_is_passed_over(house: House) -> None:
    """A caller's open transaction delays its own Session's calls and nobody else's (S13)."""
    held, free = house.ask(), house.ask()
    gate = Gate()

    with plan({"turn.submit.after_lock": gate}):
        key = held.session.key
        submitting = in_thread(lambda: house.store.submit(key, "r2"))
        assert gate.reached.wait(20)
        outcomes = house.carry_commands()
        gate.open()
        submitting.result(20)

    assert outcomes == ["new"]
    assert fresh(free).deliveries == 1
    assert fresh(held).deliveries == 0


def test_the_oldest_leave_first_in_bounded_batches(house: House) -> None:
    """A backlog is sent in order, so many at a time, until it is gone."""
    calls = [house.ask() for _ in range(5)]

    sizes = [house.dispatch.due(2) for _ in range(4)]

    sent = [parse_execute(letter.text).execution_id for letter in house.post.take()]
    assert sizes == [2, 2, 1, 0]
    assert sent == [call.pk for call in calls]


def test_one_tick_sends_a_backlog_to_its_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dispatcher's thread goes on until nothing is due, then rests until the next look."""
    monkeypatch.setattr("sessions_app.tooling.dispatch.BATCH", 2)
    for _ in range(5):
        house.ask()

    rest = house.dispatch.tick()

    assert rest == 1.0
    assert len(house.post.take()) == 5


@poses("S18")
def test_the_outbox_is_found_by_its_own_index(house: House) -> None:
    """Looking for what is due reads an index of open external calls, not the table (S18)."""
    house.ask()
    looked_for = ToolCall.objects.filter(deliver_at__lte=clock.now()).order_by("deliver_at")[:100]

    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # which prefers to read a table of one row
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        way = looked_for.explain()

    assert "call_outbox" in way
    assert "sort" not in way.lower()
