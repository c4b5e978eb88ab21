"""Leases, takeover and scans as the requirements state them (1.16)."""

from __future__ import annotations

from datetime import timedelta

from sessions_app.contract.backend import Committed, Go, Lost
from sessions_app.contract.identity import DefinitionKey, ThreadKey
from sessions_app.contract.status import StepPhase
from sessions_app.models import Event, Run, Thread, Turn
from sessions_app.store import admission, clock
from tests.covers import covers
from tests.stores import AGENT, Store, host, tool_intent


def scan_for(store: Store, seconds: int) -> None:
    """Scan every four seconds of database time, as living schedulers do."""
    for beat in range(0, seconds, 4):
        with clock.offset(timedelta(seconds=beat)):
            store.backend.scan(store.host, own=False)


@covers("R164")
def test_after_the_lease_another_host_continues_from_committed_state(store: Store) -> None:
    """No resubmission, the same Turn, a second Run, and what was committed is there (R164)."""
    store.submit(store.session())
    store.answered(store.claim(store.join(host())), tool_intent("idempotent"))
    scan_for(store, 32)

    with clock.offset(timedelta(seconds=31)):
        again = store.claim()
        native = store.backend.load(again)

    assert again.takeover
    assert [entry.ordinal for entry in native.entries] == [1]
    assert native.frame is not None
    assert Turn.objects.count() == 1
    assert Run.objects.count() == 2


@covers("R164", "R165")
def test_before_the_lease_ends_nobody_else_gets_the_thread(store: Store) -> None:
    """One second before its expiry a lease holds (R164, R165)."""
    store.submit(store.session())
    claim = store.claim(store.join(host()))
    scan_for(store, 30)

    with clock.offset(timedelta(seconds=29)):
        assert store.backend.claim(store.host, limit=1, first=claim.thread_pk) == []
        assert isinstance(store.finish(claim), Committed)


@covers("R165")
def test_a_host_that_lost_its_lease_cannot_commit(store: Store) -> None:
    """The token decides, not the time: the former owner's finish changes nothing (R165)."""
    store.submit(store.session())
    stale = store.claim(store.join(host()))
    scan_for(store, 32)
    with clock.offset(timedelta(seconds=31)):
        store.claim()
        assert store.finish(stale) == Lost()


@covers("R166")
def test_a_scan_recovers_a_missed_wake_up(store: Store) -> None:
    """A Turn whose hint was lost is found, counted and dated by the next scan (R166)."""
    turn_id = store.submit(store.session())
    store.rings.threads.clear()

    with clock.offset(timedelta(seconds=3)):
        report = store.backend.scan(store.host, own=False)
        assert report.found == 1
        assert report.lag_seconds >= 2
        assert store.claim().turn_id == turn_id


@covers("R167")
def test_a_takeover_needs_the_pinned_definition(store: Store) -> None:
    """A host without the pinned version leaves the dead host's Thread to another one (R167)."""
    store.submit(store.session())
    first = store.join(host())
    store.claim(first)
    store.die(first)
    newer = store.join(host("build-2", DefinitionKey("agent", "2")))

    assert store.backend.claim(newer, limit=1) == []
    assert store.claim().takeover


@covers("R168")
def test_when_all_hosts_stopped_a_new_one_goes_on(store: Store) -> None:
    """Nothing is lost while nobody runs; whatever starts a host again starts the work (R168)."""
    turn_id = store.submit(store.session())
    first = store.join(host())
    store.claim(first)
    store.backend.scan(first, own=True)

    with clock.offset(timedelta(hours=9)):
        restarted = store.join(host())
        store.backend.scan(restarted, own=True)
        assert store.backend.claim(restarted, limit=1) == []  # owners may still renew (S4)
    for beat in range(4, 16, 4):
        with clock.offset(timedelta(hours=9, seconds=beat)):
            store.backend.scan(restarted, own=True)
    with clock.offset(timedelta(hours=9, seconds=12)):
        (again,) = store.backend.claim(restarted, limit=1)

    assert again.turn_id == turn_id


@covers("R171")
def test_threads_of_a_session_share_one_commit_scope(store: Store) -> None:
    """Commits of two Threads of one Session take one sequence, in commit order (R171)."""
    key = store.session()
    side = ThreadKey(key, "side")
    admission.create_thread(side, AGENT)
    store.submit(key, "r1")
    store.submit(side, "r2")
    main_claim, side_claim = store.backend.claim(store.host, limit=2)

    for claim in (main_claim, side_claim, main_claim, side_claim):
        store.commit(claim, Go(phase=StepPhase.TOOL))
        store.commit(claim, Go(phase=StepPhase.REASONING))

    sequences = list(Event.objects.order_by("sequence").values_list("sequence", flat=True))
    assert sequences == list(range(1, len(sequences) + 1))
    assert Thread.objects.filter(lease_token__isnull=False).count() == 2
