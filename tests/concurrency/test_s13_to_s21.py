"""Store rules S13, S17, S18 and S21: batches, builds, time and SQLite."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.backend import (
    HandOver,
)
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import TurnStatus, WaitReason
from sessions_app.models import Event, Thread, Turn
from sessions_app.store import clock
from tests.covers import covers, poses
from tests.stores import AGENT, Gate, Store, host, in_thread, wait_until_blocked


@poses("S13")
@pytest.mark.postgresql
def test_s13_a_batch_claim_never_waits_for_a_session(store: Store) -> None:
    """One caller's open transaction delays its own Session only."""
    held = store.session("held")
    store.submit(held)
    store.submit(store.session("free"))
    gate = Gate()

    with plan({"turn.submit.before_commit": gate}):
        holding = in_thread(lambda: store.submit(held, "r2"))
        assert gate.reached.wait(10)
        claims = store.backend.claim(store.host, limit=2)
        gate.open()
        holding.result(20)

    assert [claim.key.session.session_id for claim in claims] == ["free"]


@poses("S13")
@pytest.mark.postgresql
def test_s13_a_hint_waits_a_little_for_its_session(store: Store) -> None:
    """A hint for a Thread whose Session is locked for a moment claims it all the same."""
    key = store.session()
    store.submit(key)
    thread_pk = Thread.objects.get().pk
    gate = Gate()

    with plan({"turn.submit.before_commit": gate}):
        holding = in_thread(lambda: store.submit(key, "r2"))
        assert gate.reached.wait(10)
        claiming = in_thread(lambda: store.backend.claim(store.host, limit=1, first=thread_pk))
        wait_until_blocked(claiming)
        gate.open()
        holding.result(20)

    assert len(claiming.result(20)) == 1


@poses("S17")
def test_s17_an_incompatible_build_does_not_claim_again(store: Store) -> None:
    """The Thread goes back with the reason.

    That build leaves it alone, others come after a delay.
    """
    turn_id = store.submit(store.session())
    claim = store.claim()

    store.commit(claim, HandOver(reason="incompatible", detail="checkpoint format 9 is newer"))

    turn = store.turn(turn_id)
    assert (turn.status, turn.reason, turn.failures) == (
        TurnStatus.WAITING,
        WaitReason.INCOMPATIBLE,
        0,
    )
    with clock.offset(timedelta(seconds=1.1)):
        store.backend.scan(store.host, own=False)
        assert store.backend.claim(store.host, limit=1) == []
        other = store.backend.claim(store.join(host("build-2")), limit=1)
    assert [again.turn_id for again in other] == [turn_id]


@poses("S17")
def test_s17_what_a_build_gave_back_hides_nobody_from_it(store: Store) -> None:
    """With one free slot it finds the Thread behind; another build finds the older one first."""
    given_back = store.submit(store.session("one"))
    store.commit(store.claim(), HandOver(reason="incompatible", detail="format 9 is newer"))

    with clock.offset(timedelta(seconds=10)):
        store.backend.scan(store.host, own=False)
        behind = store.submit(store.session("two"), "r2")
        (mine,) = store.backend.claim(store.host, limit=1)
        (others,) = store.backend.claim(store.join(host("build-2")), limit=1)

    assert (mine.turn_id, others.turn_id) == (behind, given_back)


@poses("S17")
def test_s17_only_the_first_incompatibility_publishes_an_event(store: Store) -> None:
    """Build after build gives up; the timeline says it once."""
    store.submit(store.session())
    passed = timedelta(0)
    for number in range(1, 4):
        passed += timedelta(seconds=10)
        with clock.offset(passed):
            build = f"build-{number}"
            (claim,) = store.backend.claim(store.join(host(build)), limit=1)
            store.backend = type(store.backend)(build)
            store.commit(claim, HandOver(reason="incompatible", detail="no"))

    assert Event.objects.filter(type="turn.incompatible").count() == 1
    assert Thread.objects.get().incompatible_count == 3


@covers("R169")
@poses("S17")
def test_s17_a_backlog_of_a_foreign_definition_is_never_claimed(store: Store) -> None:
    """A host looks up exactly the definitions that it can run (R169)."""
    store.submit(store.session())
    foreign = store.join(
        host("build-1", DefinitionKey("agent", "2"), DefinitionKey("agent", "1", 2))
    )

    assert store.backend.claim(foreign, limit=10) == []
    assert store.claim().definition == AGENT


@poses("S18")
def test_s18_time_is_read_after_the_locks(store: Store) -> None:
    """A submit that waited for its Session is dated after the commit it waited for."""
    key = store.session()
    gate = Gate()

    with plan({"turn.submit.before_commit": gate}):
        first = in_thread(lambda: store.submit(key, "r1"))
        assert gate.reached.wait(10)
        second = in_thread(lambda: store.submit(key, "r2"))
        wait_until_blocked(second)
        middle = clock.now()
        gate.open()
        first.result(20)
        last = store.turn(second.result(20))

    assert last.created_at >= middle


@poses("S21")
@pytest.mark.sqlite
def test_s21_a_busy_database_is_waited_for(store: Store) -> None:
    """A second writer waits for the first one's commit instead of failing at once."""
    gate = Gate()
    keys = [store.session("a"), store.session("b")]

    with plan({"turn.submit.before_commit": gate}):
        first = in_thread(lambda: store.submit(keys[0]))
        assert gate.reached.wait(10)
        second = in_thread(lambda: store.submit(keys[1]))
        gate.open()
        first.result(20)
        second.result(20)

    assert Turn.objects.count() == 2
