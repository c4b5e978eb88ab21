"""Pruning: events go by retention, in bounded transactions, and no view loses anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.errors import CursorExpired, Invalid
from sessions_app.machine.retention import Keep
from sessions_app.models import Event, Session, StoreState
from sessions_app.store import clock, retention
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.stores import Gate, in_thread, wait_until_blocked

if TYPE_CHECKING:
    from sessions_app.runtime import SessionHandle
    from tests.stores import Store

DAYS = timedelta(days=31)


def _left() -> list[int]:
    return list(Event.objects.order_by("sequence").values_list("sequence", flat=True))


@covers("R070", "R087")
@poses("C40")
def test_history_and_snapshot_survive_pruning(session: SessionHandle, store: Store) -> None:
    """I20: with every event gone, all views are what they were; and the invariants hold."""
    turn = session.submit("r1", "hello")
    store.finish(store.claim())
    before, history = session.snapshot(), session.history()
    session.retain(events=0)

    done = retention.prune(session.key)

    assert (done.events, done.pruned_through, _left()) == (before.last_sequence,) * 2 + ([],)
    assert replace(session.snapshot(), pruned_through=0) == before
    assert session.history() == history
    assert turn.status() == before.turns[turn.turn_id]
    assert check(quiet=True).breaches == ()


@covers("R095")
@poses("S23")
def test_a_cursor_below_the_floor_is_expired(session: SessionHandle) -> None:
    """I24: one at the floor gets every later event, one below it hears that it has expired."""
    session.submit("r1", "hello")
    first, second, third, _ = session.list_events().items
    session.retain(events=2)

    retention.prune(session.key)

    with pytest.raises(CursorExpired, match="events from 3 on exist"):
        session.list_events(first.cursor)
    assert session.list_events(second.cursor).items[0] == third
    assert _left() == [3, 4]


def test_age_prunes_what_is_of_no_unfinished_turn(session: SessionHandle, store: Store) -> None:
    """A month later the finished Turn's events go; the waiting one keeps its own from the first."""
    session.submit("r1", "hello")
    store.finish(store.claim())
    waiting = session.submit("r2", "and on")
    first = waiting.list_events().items[0].sequence

    with clock.offset(DAYS):
        done = retention.prune(session.key)

    assert done.pruned_through == first - 1
    assert _left()[0] == first


def test_nothing_goes_within_its_bounds(session: SessionHandle) -> None:
    """The deployment's bounds hold for a Session that names none."""
    session.submit("r1", "hello")

    assert retention.prune(session.key).events == 0
    assert list(retention.due()) == []


def test_a_plan_says_what_would_go(session: SessionHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several batches, and writes nothing."""
    monkeypatch.setattr(retention, "BATCH", 2)
    for number in range(3):
        session.submit(f"r{number}", "hello")
    session.retain(events=1)

    planned = retention.plan(session.key)

    assert (planned.events, len(_left())) == (7, 8)
    assert planned == retention.prune(session.key)
    assert _left() == [8]


@poses("S13")
def test_one_transaction_prunes_one_batch_of_one_session(
    session: SessionHandle, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much may go, nobody waits behind it for long."""
    monkeypatch.setattr(retention, "BATCH", 3)
    store.session("other")
    for number in range(3):
        session.submit(f"r{number}", "hello")
    session.retain(events=0)
    left: list[int] = []

    with plan({"session.prune.after_commit": lambda _name: left.append(len(_left()))}):
        retention.prune(session.key)

    other = 2
    assert left == [5 + other, 2 + other, 0 + other]


@poses("S19")
def test_floor_and_deletion_are_one_change(session: SessionHandle) -> None:
    """A prune that dies before its commit has raised no floor and deleted nothing."""
    session.submit("r1", "hello")
    session.retain(events=0)

    def die(_name: str) -> None:
        raise MemoryError

    with plan({"session.prune.before_commit": die}), pytest.raises(MemoryError):
        retention.prune(session.key)

    assert Session.objects.get().pruned_through == 0
    assert len(_left()) == 4


@poses("S19", "S13")
def test_pruning_waits_for_the_sessions_lock(session: SessionHandle) -> None:
    """A submit that is under way is pruned with or not at all, never between its rows."""
    session.retain(events=0)
    gate = Gate()
    with plan({"turn.submit.before_commit": gate}):
        submitting = in_thread(lambda: session.submit("r1", "hello"))
        assert gate.reached.wait(20)
        pruning = in_thread(lambda: retention.prune(session.key))
        wait_until_blocked(pruning)
        gate.open()
        submitting.result(20)

    assert pruning.result(20).pruned_through == 4
    assert _left() == []


def test_looks_go_round_all_sessions(store: Store) -> None:
    """Each look goes on behind the last one, and begins anew at the end."""
    keys = [store.session(name) for name in ("a", "b", "c")]
    for key in keys:
        retention.retain(key, Keep(events=0))

    looks = [retention.some_due(2) for _ in range(3)]

    assert looks == [keys[:2], keys[2:], keys[:2]]
    assert StoreState.objects.get().pruned_to != ""


@pytest.mark.parametrize("bounds", [{"events": -1}, {"seconds": -5}], ids=str)
def test_a_senseless_bound_is_refused(session: SessionHandle, bounds: dict[str, int]) -> None:
    """Nothing is written."""
    with pytest.raises(Invalid):
        session.retain(**bounds)

    assert Session.objects.get().keep_events is None
