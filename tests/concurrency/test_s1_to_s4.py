"""Store rules S1 to S4: locks, waking, renewal and takeover, as the interleavings they prevent."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.backend import (
    Committed,
    Lost,
)
from sessions_app.contract.errors import OwnershipLost
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Run, Thread
from sessions_app.store import clock
from tests.covers import poses
from tests.stores import Gate, Store, host, in_thread, wait_until_blocked

if TYPE_CHECKING:
    from concurrent.futures import Future


@poses("S1")
def test_s1_a_submit_that_waited_for_a_finish_sees_it(store: Store) -> None:
    """A Turn submitted while its predecessor finishes gets a time to wake."""
    key = store.session()
    store.submit(key, "r1")
    claim = store.claim()
    gate = Gate()

    with plan({"brain.commit.before_commit": gate}):
        finishing = in_thread(lambda: store.finish(claim))
        assert gate.reached.wait(10)
        submitting = in_thread(lambda: store.submit(key, "r2"))
        wait_until_blocked(submitting)
        gate.open()
        assert isinstance(finishing.result(20), Committed)
        second = submitting.result(20)

    assert store.turn(claim.turn_id).status == TurnStatus.COMPLETED
    assert store.turn(second).status == TurnStatus.QUEUED
    assert store.thread(claim).wake_at is not None
    assert store.claim().turn_id == second


@poses("S1")
def test_s1_a_claim_that_waited_for_a_finish_decides_on_what_is_true_then(store: Store) -> None:
    """Of two claimers of one Thread one wins and the other gets nothing."""
    store.submit(store.session())
    other = store.join(host())
    gate = Gate()

    with plan({"brain.claim.before_commit": gate}):
        winning = in_thread(lambda: store.backend.claim(store.host, limit=1))
        assert gate.reached.wait(10)
        losing: Future[object] = in_thread(lambda: store.backend.claim(other, limit=1))
        wait_until_blocked(losing)
        gate.open()
        assert len(winning.result(20)) == 1
        assert losing.result(20) == []

    assert Run.objects.count() == 1


@poses("S2")
def test_s2_a_result_for_a_leased_thread_does_not_open_it(store: Store) -> None:
    """While a lease lives, `wake_at` is its expiry, whatever else arrives."""
    key = store.session()
    store.submit(key, "r1")
    claim = store.claim()

    store.submit(key, "r2")

    thread = store.thread(claim)
    assert thread.wake_at == thread.lease_expires_at
    assert store.backend.claim(store.join(host()), limit=1, first=claim.thread_pk) == []


@poses("S2")
def test_s2_wake_at_alone_never_justifies_a_claim(store: Store) -> None:
    """A Thread whose `wake_at` was moved by hand is looked at and left alone while it is leased."""
    store.submit(store.session())
    claim = store.claim()
    moved = clock.now() - timedelta(seconds=1)
    columns = {
        "lease_expires_at": moved + timedelta(hours=1),
        "wake_at": moved + timedelta(hours=1),
    }
    Thread.objects.filter(pk=claim.thread_pk).update(**columns)

    assert store.backend.claim(store.join(host()), limit=1, first=claim.thread_pk) == []


@poses("S3")
def test_s3_renewal_names_only_living_invocations(store: Store) -> None:
    """A pair that is not named is not renewed; a token that is not current is told superseded."""
    store.submit(store.session("a"), "r1")
    store.submit(store.session("b"), "r1")
    held, forgotten = store.backend.claim(store.host, limit=2)
    before = store.thread(forgotten).lease_expires_at

    with clock.offset(timedelta(seconds=5)):
        answers = store.backend.renew(
            store.host.host_id, [(held.thread_pk, held.token), (held.thread_pk, "0.other")]
        )

    assert answers[held.thread_pk, held.token] == "renewed"
    assert answers[held.thread_pk, "0.other"] == "superseded"
    renewed = store.thread(held)
    assert renewed.lease_expires_at == renewed.wake_at
    assert renewed.lease_expires_at is not None
    assert renewed.lease_expires_at > held.lease_expires_at
    assert store.thread(forgotten).lease_expires_at == before


@poses("S3")
@pytest.mark.postgresql
def test_s3_a_locked_row_is_told_locked_and_nobody_waits(store: Store) -> None:
    """A renewal skips a row that a transaction holds; only another token means lost."""
    store.submit(store.session())
    claim = store.claim()
    gate = Gate()

    def hold() -> None:
        from django.db import transaction  # noqa: PLC0415 - on this thread's connection

        with transaction.atomic():
            Thread.objects.select_for_update().get(pk=claim.thread_pk)
            gate("")

    holding = in_thread(hold)
    assert gate.reached.wait(10)
    answers = store.backend.renew(store.host.host_id, [(claim.thread_pk, claim.token)])
    gate.open()
    holding.result(20)

    assert answers == {(claim.thread_pk, claim.token): "locked"}


@poses("S3")
@pytest.mark.postgresql
def test_s3_an_admission_does_not_lock_a_leased_thread(store: Store) -> None:
    """A submit to a leased Thread leaves its row unlocked, so that renewals are not skipped."""
    key = store.session()
    store.submit(key, "r1")
    claim = store.claim()
    gate = Gate()

    with plan({"turn.submit.before_commit": gate}):
        submitting = in_thread(lambda: store.submit(key, "r2"))
        assert gate.reached.wait(10)
        answers = store.backend.renew(store.host.host_id, [(claim.thread_pk, claim.token)])
        gate.open()
        submitting.result(20)

    assert answers == {(claim.thread_pk, claim.token): "renewed"}


@poses("S4")
def test_s4_a_dead_host_is_taken_over_without_waiting_for_the_lease(store: Store) -> None:
    """A sweep expires the leases of a dead host; another one goes on with the same Turn."""
    store.submit(store.session())
    first = store.join(host())
    claim = store.claim(first)

    store.die(first)
    again = store.claim()

    assert again.turn_id == claim.turn_id
    assert again.takeover
    assert store.commit(claim) == Lost()
    assert store.turn(claim.turn_id).takeovers == 1


@poses("S4")
def test_s4_a_host_that_renewed_since_the_look_is_not_dead(store: Store) -> None:
    """A renewal between the look and the sweep saves the host."""
    store.submit(store.session())
    first = store.join(host())
    claim = store.claim(first)
    (seen,) = [living for living in store.backend.living() if living.host_id == first.host_id]
    store.backend.scan(store.host, own=False)

    with clock.offset(timedelta(seconds=1)):
        store.backend.renew(first.host_id, [(claim.thread_pk, claim.token)])
        freed = store.backend.sweep(store.host, [seen])

    assert freed == 0
    assert isinstance(store.commit(claim), Committed)


@poses("S4")
def test_s4_after_a_gap_owners_renew_first(store: Store) -> None:
    """After five seconds without a scan nobody is taken over for one renewal period.

    By lock or by lease.
    """
    store.submit(store.session())
    first = store.join(host())
    claim = store.claim(first)
    (seen,) = [living for living in store.backend.living() if living.host_id == first.host_id]
    store.backend.scan(store.host, own=False)

    with clock.offset(timedelta(seconds=40)):
        assert store.backend.sweep(store.host, [seen]) == 0
        assert store.backend.claim(store.host, limit=1) == []
        store.backend.scan(store.host, own=False)
        assert store.backend.claim(store.host, limit=1) == []
    with clock.offset(timedelta(seconds=51)):
        store.backend.scan(store.host, own=False)
    with clock.offset(timedelta(seconds=62)):
        store.backend.scan(store.host, own=False)
    with clock.offset(timedelta(seconds=64)):
        store.backend.scan(store.host, own=False)
    with clock.offset(timedelta(seconds=68)):
        store.backend.scan(store.host, own=False)
    with clock.offset(timedelta(seconds=72.5)):
        again = store.claim()

    assert again.turn_id == claim.turn_id


@poses("S4")
def test_s4_a_host_found_dead_that_lives_stops_its_turns(store: Store) -> None:
    """A host whose row was marked lost is told superseded for all it holds."""
    store.submit(store.session())
    first = store.join(host())
    claim = store.claim(first)

    store.die(first)
    answers = store.backend.renew(first.host_id, [(claim.thread_pk, claim.token)])

    assert answers == {(claim.thread_pk, claim.token): "superseded"}


@poses("S4")
def test_s4_a_host_found_dead_that_lives_claims_nothing_before_it_joins_again(store: Store) -> None:
    """It would stop what it claimed, and the lease would keep everybody else away."""
    store.submit(store.session())
    first = store.join(host())

    store.die(first)
    with pytest.raises(OwnershipLost):
        store.backend.claim(first, limit=1)
    unclaimed = Thread.objects.get().lease_token
    claim = store.claim(store.join(first))

    assert unclaimed is None
    assert isinstance(store.finish(claim), Committed)


@poses("S4")
def test_s4_a_claim_is_a_sign_of_life(store: Store) -> None:
    """A host that claimed since the look is not marked lost, and keeps what it claimed."""
    first = store.join(host())
    (seen,) = [living for living in store.backend.living() if living.host_id == first.host_id]
    store.submit(store.session())
    store.backend.scan(store.host, own=False)

    with clock.offset(timedelta(seconds=1)):
        claim = store.claim(first)
        freed = store.backend.sweep(store.host, [seen])

    assert freed == 0
    answers = store.backend.renew(first.host_id, [(claim.thread_pk, claim.token)])
    assert answers == {(claim.thread_pk, claim.token): "renewed"}


@poses("S4")
@pytest.mark.postgresql
def test_s4_a_sweep_that_marks_a_host_waits_for_its_claim(store: Store) -> None:
    """Either the claim sees the mark or the mark sees the claim; here the claim came first."""
    first = store.join(host())
    (seen,) = [living for living in store.backend.living() if living.host_id == first.host_id]
    store.submit(store.session())
    store.backend.scan(store.host, own=False)
    gate = Gate()

    with plan({"brain.claim.before_commit": gate}):
        claiming = in_thread(lambda: store.claim(first))
        assert gate.reached.wait(10)
        sweeping = in_thread(lambda: store.backend.sweep(store.host, [seen]))
        wait_until_blocked(sweeping)
        gate.open()
        claim = claiming.result(20)

    assert sweeping.result(20) == 0
    answers = store.backend.renew(first.host_id, [(claim.thread_pk, claim.token)])
    assert answers == {(claim.thread_pk, claim.token): "renewed"}


@poses("S4")
def test_s4_a_process_never_takes_over_what_it_runs_itself(store: Store) -> None:
    """An expired lease of its own is left to the others, until its invocation is gone."""
    store.submit(store.session())
    claim = store.claim()
    for beat in range(0, 31, 4):
        with clock.offset(timedelta(seconds=beat)):
            store.backend.scan(store.host, own=False)

    with clock.offset(timedelta(seconds=31)):
        running = [claim.thread_pk]
        assert store.backend.claim(store.host, limit=1, running=running) == []
        assert (
            store.backend.claim(store.host, limit=1, first=claim.thread_pk, running=running) == []
        )
        again = store.claim()
    assert (again.turn_id, again.takeover) == (claim.turn_id, True)
