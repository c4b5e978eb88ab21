"""What Brains repair by themselves: locks, outages, lost and doubled hints."""

from __future__ import annotations

import pytest
from django.db import connection, connections, transaction

from hands_app.contract.fault_plan import FaultRaised
from hands_app.contract.faults import plan
from sessions_app.contract.status import (
    TurnStatus,
)
from sessions_app.models import (
    Host,
    Run,
    Session,
    Thread,
    Turn,
)
from tests.covers import covers, poses
from tests.integration.brain.brains import Brains, until
from tests.integration.brain.doubles import Gate
from tests.stores import in_thread


@poses("S15")
@pytest.mark.postgresql
def test_s15_a_locked_session_holds_up_nobody_else(brains: Brains) -> None:
    """With one database thread: the owner of a locked Session comes again, others go on."""
    gate = Gate()
    brains.agent(send=gate)
    stuck = brains.store.submit(brains.store.session("stuck"))
    brains.start(database_threads=1)
    assert gate.reached.wait(10)

    with transaction.atomic():
        Session.objects.select_for_update(no_key=True).get(session_id="stuck")
        gate.open()
        others = in_thread(lambda: _run_others(brains))
        others.result(50)
        assert Turn.objects.get(pk=stuck).status == TurnStatus.RUNNING

    assert brains.ended(stuck).failures == 0


def _run_others(brains: Brains) -> None:
    """Submit three Turns to other Sessions and wait for their end."""
    names = [f"other-{number}" for number in range(3)]
    turns = [brains.store.submit(brains.store.session(name)) for name in names]
    for turn_id in turns:
        brains.ended(turn_id)
    connections.close_all()


@poses("C10")
@pytest.mark.postgresql
def test_c10_a_process_recovers_when_the_database_comes_back(brains: Brains) -> None:
    """Every connection of the process is cut in mid-Turn; it goes on, and nothing is charged."""
    gate = Gate()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())
    process = brains.start()
    assert gate.reached.wait(10)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    until(lambda: process._presence.connected == 2)
    gate.open()

    turn = brains.ended(turn_id)
    assert (turn.failures, turn.takeovers) == (0, 0)
    second = brains.store.submit(brains.store.session("later"))
    brains.ended(second)
    assert Host.objects.get(pk=process.host.host_id).lost_at is None


@covers("R166")
def test_i44_twenty_turns_complete_without_any_hint(brains: Brains) -> None:
    """No bell reaches the Brain here: its own looks find everything, each Turn once (R166)."""
    gate = Gate().open()
    brains.agent(send=gate)
    sessions = [brains.store.session(f"chat-{number}") for number in range(5)]
    brains.start()

    turns = [brains.store.submit(key, f"r{n}") for key in sessions for n in range(4)]

    for turn_id in turns:
        brains.ended(turn_id)
    assert gate.requests == 20
    assert Run.objects.count() == 20


def test_a_duplicate_hint_finds_nothing_to_do(brains: Brains) -> None:
    """Neither for a Thread at work, nor for one that is done, nor for one that does not exist."""
    gate = Gate()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())
    process = brains.start()
    assert gate.reached.wait(10)
    thread_pk = Thread.objects.get().pk

    process.advance(thread_pk)
    process.advance("thr_unknown")
    gate.open()
    brains.ended(turn_id)
    process.advance(thread_pk)

    assert gate.requests == 1


def test_a_result_that_cannot_be_stored_fails_the_turn(brains: Brains) -> None:
    """An error of the finishing commit is a failure of the Run, not of the process."""
    brains.agent()
    turn_id = brains.store.submit(brains.store.session())

    with plan({"brain.finish.before_commit": "raise"}):
        brains.start()
        turn = brains.ended(turn_id, TurnStatus.FAILED)

    assert turn.error_class == FaultRaised.__name__
