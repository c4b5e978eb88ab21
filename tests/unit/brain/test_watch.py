"""When a host counts as dead: two looks, one connection, no renewal between them (S4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from sessions_app.brain import watch as module
from sessions_app.brain.watch import News, Watch
from sessions_app.contract.backend import HostIdentity, LivingHost
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sessions_app.ports import SessionBackend

_NEWS = ("taken", "freed", "told", "lost")
ME = HostIdentity("host_me", "brain", "here", 1, "b")
OTHER = LivingHost("host_other", 7, datetime(2026, 1, 1, tzinfo=UTC))


class Locks:
    """Presence locks as told."""

    key = 1

    def __init__(self) -> None:
        self.connected = 0
        self.freed: set[int] = set()
        self.holds = False

    def keep(self) -> bool:
        """Take the lock when it is not held."""
        taken, self.holds = not self.holds, True
        self.connected += taken
        return taken

    def free(self, keys: Collection[int]) -> set[int]:
        """Those that were freed."""
        return self.freed & set(keys)

    def close(self) -> None:
        """Let go."""


class Hosts:
    """The store's part."""

    def __init__(self) -> None:
        self.others = [OTHER]
        self.steps: list[str] = []
        self.dead: list[str] = []

    draining = False
    me_lost = False

    def join(self, host: HostIdentity, key: int) -> None:
        """Write the Host row."""
        self.steps.append(f"join {host.host_id} {key}")

    def living(self) -> list[LivingHost]:
        """Every living host, we among them."""
        me = LivingHost(ME.host_id, 1, OTHER.seen_at, self.draining)
        return self.others if self.me_lost else [me, *self.others]

    def sweep(self, host: HostIdentity, dead: Sequence[LivingHost]) -> int:
        """Remember who was given up."""
        self.steps.append("sweep")
        self.dead += [gone.host_id for gone in dead if gone.host_id != host.host_id]
        return len(dead)


class Clock:
    """A monotonic clock that tests move."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the watch's clock."""
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


class Setting:
    """A watch with its surroundings."""

    def __init__(self) -> None:
        self.locks, self.hosts, self.heard = Locks(), Hosts(), list[str]()
        self.watch = Watch(
            cast("SessionBackend", self.hosts),
            self.locks,
            ME,
            News(**{what: partial(self.heard.append, what) for what in _NEWS}),
            period=0.25,
        )


@poses("S4")
def test_s4_the_lock_is_taken_before_the_host_row_and_before_claims(clock: Clock) -> None:
    """Only then does the process hear that it may claim."""
    setting = Setting()

    setting.watch._tick()

    assert setting.locks.holds
    assert setting.hosts.steps == ["join host_me 1"]
    assert setting.heard == ["taken"]


@poses("S4")
def test_s4_one_look_at_a_free_lock_is_not_enough(clock: Clock) -> None:
    """A second look half a second later decides."""
    setting = Setting()
    setting.locks.freed = {7}

    setting.watch._tick()
    clock.now += 0.3
    setting.watch._tick()
    assert setting.hosts.dead == []

    clock.now += 0.3
    setting.watch._tick()
    assert setting.hosts.dead == ["host_other"]
    assert setting.heard == ["taken", "freed"]


@poses("S4")
def test_s4_a_renewal_between_the_looks_clears_the_suspicion(clock: Clock) -> None:
    """Who renews lives, whatever its lock says."""
    setting = Setting()
    setting.locks.freed = {7}
    setting.watch._tick()
    setting.hosts.others = [replace(OTHER, seen_at=OTHER.seen_at + timedelta(seconds=1))]

    clock.now += 0.6
    setting.watch._tick()

    assert setting.hosts.dead == []


@poses("S4")
def test_s4_looks_before_and_after_a_broken_connection_do_not_add_up(clock: Clock) -> None:
    """A restart of the server frees everybody's lock; nobody is dead for that."""
    setting = Setting()
    setting.locks.freed = {7}
    setting.watch._tick()
    setting.locks.holds = False

    clock.now += 0.6
    setting.watch._tick()
    clock.now += 0.6
    setting.watch._tick()

    assert setting.hosts.dead == []
    assert setting.heard == ["taken", "taken"]
    assert setting.hosts.steps == ["join host_me 1"] * 2


@poses("S4")
def test_s4_a_lock_that_is_held_again_clears_the_suspicion(clock: Clock) -> None:
    """Suspicion does not outlive what it rested on."""
    setting = Setting()
    setting.locks.freed = {7}
    setting.watch._tick()
    setting.locks.freed = set()
    clock.now += 0.3
    setting.watch._tick()
    setting.locks.freed = {7}

    clock.now += 0.3
    setting.watch._tick()

    assert setting.hosts.dead == []


def test_many_processes_share_the_looking(clock: Clock) -> None:
    """The sum of looks a second does not grow with the number of processes."""
    setting = Setting()
    setting.hosts.others = [replace(OTHER, host_id=f"host_{n}", presence_key=n) for n in range(40)]

    assert setting.watch._tick() == pytest.approx(2.5)


def test_an_operators_wish_to_drain_is_obeyed_once(clock: Clock) -> None:
    """A process that finds its own row draining hears it, and only the first time."""
    setting = Setting()
    setting.watch._tick()
    setting.hosts.draining = True

    setting.watch._tick()
    setting.watch._tick()

    assert setting.heard == ["taken", "told"]


@poses("S4")
def test_s4_a_process_that_was_taken_for_dead_stops_its_turns_and_joins_again(clock: Clock) -> None:
    """It finds its own row marked lost; its lock and its identity are still its own."""
    setting = Setting()
    setting.watch._tick()
    setting.hosts.me_lost = True

    setting.watch._tick()
    setting.hosts.me_lost = False
    setting.watch._tick()

    assert setting.heard == ["taken", "lost", "taken"]
    assert setting.hosts.steps == ["join host_me 1"] * 2
