"""Slots and lanes over a store that says what is ready; and when a process scans by itself."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from sessions_app.brain import scheduler as module
from sessions_app.brain.lease import Held, Leases
from sessions_app.brain.scheduler import Scanner, Scheduler
from sessions_app.contract.backend import Claim, HostIdentity
from sessions_app.contract.errors import OwnershipLost, Unavailable
from tests.covers import poses
from tests.unit.brain.brainlets import Inline, a_claim

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from sessions_app.brain.loop import Driver
    from sessions_app.ports import SessionBackend

ME = HostIdentity("host_me", "brain", "here", 1, "b")


class Ready:
    """Ready Threads, and how they were asked for."""

    def __init__(self, *threads: str) -> None:
        self.threads = list(threads)
        self.asked: list[dict[str, Any]] = []
        self.suspect = False
        self.refusal: Exception | None = None

    def claim(self, host: HostIdentity, **how: Any) -> list[Claim]:
        """Give out up to `limit`."""
        self.asked.append({"host": host.host_id, **how})
        if self.refusal is not None:
            raise self.refusal
        count = how["limit"]
        given, self.threads = self.threads[:count], self.threads[count:]
        return [replace(a_claim(thread), suspect=self.suspect) for thread in given]


class Drives:
    """A driver that holds each Turn until it is let go."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Event] = {}
        self.done: list[str] = []
        self.open = False

    async def drive(self, held: Held) -> None:
        """Wait, then be done; a stop lets go too."""
        gate = self.running[held.claim.thread_pk] = asyncio.Event()
        if not self.open:
            while not gate.is_set() and held.stopped is None:
                await asyncio.wait([asyncio.ensure_future(gate.wait())], timeout=0.02)
        self.done.append(held.claim.thread_pk)


class Setting:
    """A scheduler of two slots."""

    def __init__(self, *threads: str) -> None:
        self.ready, self.drives, self.leases = Ready(*threads), Drives(), Leases(30)
        self.scheduler = Scheduler(
            cast("SessionBackend", self.ready), cast("Database", Inline()), ME, self.leases
        )
        self.scheduler.open(cast("Driver", self.drives), 2)

    async def running(self, *threads: str) -> None:
        """Wait until these run."""
        async with asyncio.timeout(5):
            while self._threads() != set(threads):  # noqa: ASYNC110 - lets the lanes run
                await asyncio.sleep(0)

    def _threads(self) -> set[str]:
        return {held.claim.thread_pk for held in self.leases.live()}


async def test_a_look_fills_the_free_slots_and_no_more() -> None:
    """Two of three ready Threads are claimed in one transaction."""
    setting = Setting("a", "b", "c")

    await setting.scheduler.look()

    await setting.running("a", "b")
    assert [ask["limit"] for ask in setting.ready.asked] == [2]
    await setting.scheduler.look()
    assert len(setting.ready.asked) == 1
    await setting.scheduler.drain(0)


async def test_a_freed_slot_goes_on_through_the_backlog() -> None:
    """No hint is needed for what is left: one advance returns when nothing more is ready."""
    setting = Setting("a", "b", "c", "d", "e")
    setting.drives.open = True

    await setting.scheduler.advance("a")

    assert await setting.scheduler.drain(5)
    assert sorted(setting.drives.done) == ["a", "b", "c", "d", "e"]


@poses("S16")
async def test_s16_a_hint_is_looked_at_first_and_a_duplicate_finds_nothing() -> None:
    """The hinted Thread is named to the store; the second hint returns at once."""
    setting = Setting("a")
    setting.drives.open = True

    await setting.scheduler.advance("a")
    began = time.monotonic()
    await setting.scheduler.advance("a")

    assert time.monotonic() - began < 0.1
    assert setting.ready.asked[0]["first"] == "a"
    assert setting.drives.done == ["a"]


async def test_a_hint_that_comes_during_a_claim_is_not_lost() -> None:
    """Two looks at once ask one after the other: the second sees what came after the first."""
    setting = Setting()

    await asyncio.gather(setting.scheduler.look(), setting.scheduler.look())

    assert len(setting.ready.asked) == 2


@poses("S5")
async def test_s5_one_suspect_runs_at_a_time() -> None:
    """While a Turn that took processes down runs here, no other such Turn is claimed."""
    setting = Setting("a")
    setting.ready.suspect = True
    await setting.scheduler.look()
    await setting.running("a")

    await setting.scheduler.look()

    assert [ask["suspects"] for ask in setting.ready.asked] == [True, False]
    await setting.scheduler.drain(0)


@poses("S24")
async def test_s24_a_drain_claims_nothing_more() -> None:
    """Running Turns end, the rest is left to others."""
    setting = Setting("a", "b", "c")
    await setting.scheduler.look()
    await setting.running("a", "b")

    draining = asyncio.create_task(setting.scheduler.drain(5))
    await asyncio.sleep(0)
    for gate in setting.drives.running.values():
        gate.set()

    assert await draining
    assert setting.ready.threads == ["c"]


@poses("S24")
async def test_s24_at_the_timeout_only_local_effects_stay() -> None:
    """What has a local effect in flight keeps its lease; the rest is stopped."""
    setting = Setting("a", "b")
    await setting.scheduler.look()
    await setting.running("a", "b")
    busy, _ = setting.leases.live()
    busy.has_effects = lambda: True
    module._AFTER_DRAIN, before = 0.2, module._AFTER_DRAIN  # type: ignore[misc]  # a shorter wait

    idle = await setting.scheduler.drain(0.05)
    module._AFTER_DRAIN = before  # type: ignore[misc]  # as it was

    assert not idle
    assert setting.leases.live() == [busy]
    busy.stop("lost")
    await setting.scheduler.drain(5)


@poses("C10", "S4")
@pytest.mark.parametrize("refusal", [Unavailable("away"), OwnershipLost("taken for dead")])
async def test_c10_a_store_that_gives_nothing_is_no_error_of_a_lane(refusal: Exception) -> None:
    """Nothing is claimed, nothing raises, and the slots stay free: for when the store is back.

    Or until the watch has joined again a host that was taken for dead (S4).
    """
    setting = Setting("a")
    setting.ready.refusal = refusal

    assert await setting.scheduler.look() is None

    setting.ready.refusal = None
    setting.drives.open = True
    await setting.scheduler.advance("a")
    assert setting.drives.done == ["a"]


def scanner() -> Scanner:
    """A scanner that is only asked when it would scan."""
    return Scanner(cast("SessionBackend", Ready()), ME, lambda: None, period=1.0)


def test_a_process_scans_when_nobody_did_for_three_periods() -> None:
    """Or when nobody ever did."""
    assert scanner()._is_due(None)
    assert scanner()._is_due(3.5)
    assert not scanner()._is_due(2.5)


def test_a_process_goes_on_scanning_each_period_while_nobody_else_does() -> None:
    """Once it had to begin, three periods are not waited for again; another's scan ends that."""
    mine = scanner()
    mine._mine_at = time.monotonic() - 1.0

    assert mine._is_due(1.0)
    assert not mine._is_due(0.4)
