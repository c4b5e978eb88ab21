"""Fairness: nobody's backlog hides another's, on both databases (C24, C42, C46, C47)."""

from __future__ import annotations

from datetime import timedelta

from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.models import Thread, Turn
from sessions_app.store import admission, clock
from tests.covers import covers, poses
from tests.stores import Store, host


@poses("C24")
def test_namespaces_take_turns(store: Store) -> None:
    """A namespace that floods the index delays another by at most one batch (C24)."""
    for number in range(40):
        store.submit(store.session(f"flood-{number}", "aaa"), "r1")
    store.submit(store.session("quiet", "zzz"), "r1")

    batch = store.backend.claim(store.host, limit=4)

    assert "zzz" in {claim.key.session.namespace for claim in batch}


@covers("R251")
@poses("C24")
def test_a_definition_that_no_host_has_hides_nobody(store: Store) -> None:
    """A backlog of version 9 leaves the others their order, and waits (C24, R251)."""
    orphan = DefinitionKey("agent", "9")
    for number in range(30):
        key = SessionKey("acme", f"orphan-{number}")
        admission.create_session(key, orphan)
        store.submit(key)
    turn_id = store.submit(store.session("served"))

    claims = store.backend.claim(store.host, limit=10)

    assert [claim.turn_id for claim in claims] == [turn_id]
    assert Turn.objects.filter(status="QUEUED").count() == 30


def test_two_definitions_of_one_host_share_a_batch(store: Store) -> None:
    """A flood of one definition leaves the other one its part of the first batch."""
    other = DefinitionKey("other", "1")
    for number in range(20):
        store.submit(store.session(f"flood-{number}"))
    key = SessionKey("acme", "other")
    admission.create_session(key, other)
    store.submit(key)
    both = store.join(host("build-1", DefinitionKey("agent", "1"), other))

    claims = store.backend.claim(both, limit=4)

    assert other in {claim.definition for claim in claims}


@poses("C26", "C42")
def test_the_same_host_name_twice_strands_nothing(store: Store) -> None:
    """Ownership is a token.

    Of two processes with one name and slot the dead one's Turn is found (C26, C42).
    """
    store.submit(store.session())
    old, new = store.join(host()), store.join(host())
    assert (old.hostname, old.pid, old.build) == (new.hostname, new.pid, new.build)
    claim = store.claim(old)

    store.die(old)
    again = store.claim(new)

    assert again.turn_id == claim.turn_id
    assert again.token != claim.token


@poses("C46")
def test_healthy_long_work_is_never_taken_for_its_age(store: Store) -> None:
    """A Turn that is renewed for twenty leases keeps its owner (C46)."""
    store.submit(store.session())
    claim = store.claim()
    other = store.join(host())

    for beat in range(0, 600, 9):
        with clock.offset(timedelta(seconds=beat)):
            answers = store.backend.renew(store.host.host_id, [(claim.thread_pk, claim.token)])
            assert answers == {(claim.thread_pk, claim.token): "renewed"}
            assert store.backend.claim(other, limit=1) == []
    assert store.turn(claim.turn_id).takeovers == 0


@poses("C46")
def test_a_starved_owner_loses_its_lease_and_its_late_result(store: Store) -> None:
    """An owner that did not renew is taken over by lease alone.

    What it brings later changes nothing (C46).
    """
    store.submit(store.session())
    starved = store.claim(store.join(host()))

    for beat in (0, 4, 8, 12, 16, 20, 24, 28):
        with clock.offset(timedelta(seconds=beat)):
            store.backend.scan(store.host, own=False)
    with clock.offset(timedelta(seconds=30.5)):
        again = store.claim()

    assert again.takeover
    assert store.finish(starved).__class__.__name__ == "Lost"


@poses("C47")
def test_a_scanner_never_changes_what_it_does_not_know(store: Store) -> None:
    """A host that knows another definition scans and sweeps.

    The unknown Turn is as it was (C47).
    """
    store.submit(store.session())
    owner = store.join(host())
    claim = store.claim(owner)
    stranger = store.join(host("build-1", DefinitionKey("stranger", "1")))

    store.backend.scan(stranger, own=True)
    store.die(owner)
    assert store.backend.claim(stranger, limit=5) == []

    turn, thread = store.turn(claim.turn_id), Thread.objects.get()
    assert (turn.status, turn.failures, turn.deaths) == ("RUNNING", 0, 0)
    assert thread.lease_token == claim.token


@poses("C8")
def test_any_number_of_scans_leaves_the_state_of_one(store: Store) -> None:
    """Five hundred ticks of three schedulers change nothing but the time of the last look (C8)."""
    store.submit(store.session())
    hosts = [store.join(host()) for _ in range(3)]
    before = list(Turn.objects.values()), list(Thread.objects.values())

    for tick in range(500):
        store.backend.scan(hosts[tick % 3], own=False)

    assert (list(Turn.objects.values()), list(Thread.objects.values())) == before
    assert store.backend.last_scan_age() is not None
