"""Subscriptions over a timeline in memory: order, failures, capacity, closing (R105 to R112)."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from sessions_app.contract.errors import Closed, CursorExpired, Invalid, Unavailable
from sessions_app.contract.events import EVERYTHING, EventFilter, EventView
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.observing import Committed, SessionEventClient, SnapshotReset
from sessions_app.contract.paging import EventPage
from sessions_app.contract.snapshot import Snapshot, nothing
from sessions_app.streaming.subscriptions import Observers, Subscription, checked_listener
from tests.covers import covers
from tests.unit.streaming.timelines import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sessions_app.contract.observing import Observed

KEY = SessionKey("acme", "chat")
SOON = 10.0


class Growing:
    """A timeline of numbers; `fails` many looks fail, and positions below `floor` expired."""

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self.fails = 0
        self.floor = 0
        self.looks = 0

    def events(
        self, _key: SessionKey, cursor: str | None, limit: int, _within: EventFilter
    ) -> EventPage[EventView]:
        """A page of numbers."""
        self.looks += 1
        if self.fails:
            self.fails -= 1
            raise Unavailable
        begin = int(cursor) if cursor else self.floor
        if begin < self.floor:
            raise CursorExpired
        through = min(begin + limit, self.last)
        items = tuple(event(n) for n in range(begin + 1, through + 1))
        return EventPage(items, str(through), through, self.last)

    def snapshot(self, key: SessionKey, within: EventFilter) -> Snapshot:
        """A snapshot at the floor."""
        empty = nothing(key, within)
        return Snapshot(**{**{f: getattr(empty, f) for f in empty.__slots__}, "cursor": "7"})


@contextmanager
def observing(parallelism: int = 2) -> Iterator[Observers]:
    """Observers that look again after a blink, closed with the block."""
    made = Observers(parallelism, poll_seconds=0.01)
    try:
        yield made
    finally:
        made.close()


def subscribe(
    observers: Observers, timeline: Growing, listener: Callable[[Observed], object], **more: Any
) -> Subscription:
    """Follow a timeline from its beginning."""
    client = SessionEventClient(timeline, KEY, EVERYTHING)
    cursor, on_error = more.get("cursor"), more.get("on_error")
    return observers.add(Subscription(client, listener, cursor, on_error))


class Heard:
    """What a listener was given, and a way to wait for so much of it."""

    def __init__(self) -> None:
        self.items: list[Observed] = []
        self._more = threading.Condition()

    def __call__(self, item: Observed) -> None:
        """Take an item."""
        with self._more:
            self.items.append(item)
            self._more.notify_all()

    def wait(self, count: int) -> list[int]:
        """Wait for so many items, and give the sequences of the events among them."""
        with self._more:
            assert self._more.wait_for(lambda: len(self.items) >= count, SOON)
        return [each.event.sequence for each in self.items if isinstance(each, Committed)]


@covers("R105", "R107")
def test_a_subscription_replays_and_then_follows() -> None:
    """R105: what is kept, then what comes, by looking alone; a saved position begins behind it."""
    timeline, heard, later = Growing(250), Heard(), Heard()
    with observing() as observers:
        subscribe(observers, timeline, heard)
        subscribe(observers, timeline, later, cursor="248")
        assert heard.wait(250) == list(range(1, 251))
        timeline.last = 252

        assert heard.wait(252) == list(range(1, 253))
        assert later.wait(4) == [249, 250, 251, 252]


@covers("R108", "R109")
def test_only_what_the_listener_took_moves_the_cursor() -> None:
    """R108, R109: a failure is told and tried again, also when telling it fails."""
    timeline, heard, told = Growing(3), Heard(), []
    failing = [RuntimeError("no"), RuntimeError("still no")]
    cursors: list[str | None] = []

    def listener(item: Observed) -> None:
        if isinstance(item, Committed) and item.event.sequence == 2 and failing:
            cursors.append(made.cursor)
            raise failing.pop(0)
        heard(item)

    def on_error(error: Exception) -> None:
        told.append(str(error))
        raise error

    with observing() as observers:
        client = SessionEventClient(timeline, KEY, EVERYTHING)
        made = Subscription(client, listener, None, on_error)
        observers.add(made)

        assert heard.wait(3) == [1, 2, 3]
        assert cursors == ["1", "1"]
        assert told == ["no", "still no"]
        assert str(made.last_failure) == "still no"


@covers("R107", "R109")
def test_a_store_that_is_away_is_asked_again() -> None:
    """R107: the next try comes an interval later, and nothing is lost."""
    timeline, heard = Growing(2), Heard()
    timeline.fails = 3
    with observing() as observers:
        made = subscribe(observers, timeline, heard)

        assert heard.wait(2) == [1, 2]
        assert timeline.looks >= 4
        assert isinstance(made.last_failure, Unavailable)


@covers("R095")
def test_an_expired_position_gives_a_reset_and_goes_on() -> None:
    """R095: the snapshot replaces what was folded; what follows begins behind it."""
    timeline, heard = Growing(9), Heard()
    timeline.floor = 7
    with observing() as observers:
        subscribe(observers, timeline, heard, cursor="2")

        assert heard.wait(3) == [8, 9]
        assert isinstance(heard.items[0], SnapshotReset)


@covers("R106", "R110")
def test_slow_callbacks_hold_up_observers_at_capacity_alone() -> None:
    """R106, R110: one after the other in a subscription, as many at once as there are threads."""
    gate, running = threading.Event(), threading.Semaphore(0)
    at_once, most, lock = 0, 0, threading.Lock()

    def slow(_: Observed) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        running.release()
        assert gate.wait(SOON)
        with lock:
            at_once -= 1

    waiting = Heard()
    with observing(parallelism=2) as observers:
        for _ in range(2):
            subscribe(observers, Growing(3), slow)
        for _ in range(2):
            assert running.acquire(timeout=SOON)
        subscribe(observers, Growing(1), waiting)
        assert waiting.items == []
        gate.set()

        assert waiting.wait(1) == [1]
        for _ in range(4):
            assert running.acquire(timeout=SOON)
    assert most == 2


@covers("R111")
def test_closing_one_detaches_it_alone() -> None:
    """R111: its callback may finish; the others go on; closing all ends all."""
    timeline, heard, cut = Growing(1), Heard(), Heard()
    with observing() as observers:
        subscribe(observers, timeline, heard)
        mine = subscribe(observers, timeline, cut)
        cut.wait(1)
        mine.close()
        timeline.last = 3

        assert heard.wait(3) == [1, 2, 3]
        assert mine.is_closed
        assert len(observers) == 1
    assert len(cut.items) == 1
    assert len(observers) == 0
    with pytest.raises(Closed):
        subscribe(observers, timeline, heard)


@covers("R261")
def test_closing_from_inside_a_callback_does_not_wait_for_itself() -> None:
    """R261: it ends the others and returns."""
    done = threading.Event()
    observers = Observers(1, poll_seconds=0.01)

    def listener(_: Observed) -> None:
        observers.close(SOON)
        done.set()

    subscribe(observers, Growing(2), listener)
    assert done.wait(SOON / 2)


def test_threads_let_go_of_what_they_hold() -> None:
    """A thread that ends gives its connection back."""
    let_go = threading.Event()
    observers = Observers(1, poll_seconds=0.01, let_go=let_go.set)
    heard = Heard()
    subscribe(observers, Growing(1), heard)
    heard.wait(1)
    observers.close()
    assert let_go.is_set()


@pytest.mark.parametrize("wrong", [0, -1, True, 2.0, "2", None])
def test_a_capacity_that_delivers_nothing_is_refused(wrong: Any) -> None:
    """Silence would be the only sign of it."""
    with pytest.raises(Invalid):
        Observers(wrong)


def test_a_listener_that_nobody_would_await_is_refused() -> None:
    """A coroutine function would be called and never run."""

    async def listener(_: Observed) -> None:
        raise AssertionError

    for wrong in (listener, None):
        with pytest.raises(Invalid):
            checked_listener(wrong)
