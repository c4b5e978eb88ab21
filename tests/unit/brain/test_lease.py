"""Renewals: who is named, what an answer means, and when a process stops renewing (S3, S15)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, cast

import pytest

from sessions_app.brain.eventloop import EventLoop
from sessions_app.brain.lease import Held, Leases, Pulse, Renewals
from sessions_app.contract.errors import OwnershipLost, Unavailable
from tests.covers import poses
from tests.unit.brain.brainlets import a_claim, until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.backend import RenewAnswer

Pair = tuple[str, str]


class Store:
    """Answers renewals as told."""

    def __init__(self) -> None:
        self.asked: list[list[Pair]] = []
        self.answer: RenewAnswer = "renewed"
        self.away = False

    def __call__(self, held: Sequence[Pair]) -> dict[Pair, RenewAnswer]:
        """Renew."""
        self.asked.append(list(held))
        if self.away:
            raise Unavailable
        return dict.fromkeys(held, self.answer)


class Frozen:
    """A loop that never answers."""

    def ask(self) -> threading.Event:
        """Give an event that nobody sets."""
        return threading.Event()


class Prompt:
    """A loop that answers at once."""

    def ask(self) -> threading.Event:
        """Give an event that is set."""
        answered = threading.Event()
        answered.set()
        return answered


def pulse(loop: object, patience: float = 60.0) -> Pulse:
    """A pulse of a loop that is none."""
    return Pulse(cast("EventLoop", loop), patience)


@poses("S3")
def test_s3_a_renewal_names_the_pairs_that_live_here_in_order() -> None:
    """What was dropped, or never registered, is not renewed."""
    store, leases = Store(), Leases(30)
    second, first = leases.hold(a_claim("b"), 0), leases.hold(a_claim("a"), 0)
    gone = leases.hold(a_claim("c"), 0)
    leases.drop(gone)
    renewals = Renewals(leases, store, pulse(Prompt()), period=10)

    renewals._tick()

    assert store.asked == [[first.pair, second.pair]]


@poses("S3")
def test_s3_what_is_lost_is_not_renewed_while_it_stops() -> None:
    """A host that comes back after it was held for dead must not lengthen what it gave up."""
    store, leases = Store(), Leases(30)
    leases.hold(a_claim("a"), 0).stop("lost")
    drained = leases.hold(a_claim("b"), 0)
    drained.stop("drain")
    renewals = Renewals(leases, store, pulse(Prompt()), period=10)

    renewals._tick()

    assert store.asked == [[drained.pair]]


@poses("S3")
def test_s3_only_superseded_means_lost() -> None:
    """A row that was locked is tried again within a second and is still ours."""
    store, leases = Store(), Leases(30)
    held = leases.hold(a_claim(), time.monotonic())
    renewals = Renewals(leases, store, pulse(Prompt()), period=10)

    store.answer = "locked"
    assert renewals._tick() < 1
    assert not held.is_lost

    renewals.now()
    store.answer = "superseded"
    renewals._tick()
    assert held.is_lost


def test_a_renewal_extends_trust_from_the_moment_it_was_sent() -> None:
    """Time that the answer took is not trusted."""
    leases = Leases(30)
    held = leases.hold(a_claim(), 100.0)

    leases.answered({held.pair: "renewed"}, asked_at=110.0)

    assert held.until == 140.0


async def test_superseded_cancels_the_invocation() -> None:
    """The task that runs the agent is cancelled from the renewals' thread."""
    held = Held(a_claim(), time.monotonic(), 30)
    work: asyncio.Task[object] = asyncio.create_task(_for_ever())
    held.runs(work)

    await asyncio.to_thread(held.stop, "lost")

    await asyncio.wait([work])
    assert work.cancelled()
    with pytest.raises(OwnershipLost):
        held.check()


async def test_nothing_begins_under_a_lease_that_is_not_trusted() -> None:
    """An effect waits until a renewal says that the lease still holds."""
    held = Held(a_claim(), time.monotonic() - 60, 30)
    waiting = asyncio.create_task(held.trusted())
    await asyncio.wait([waiting], timeout=0.05)
    assert not waiting.done()

    held.renewed(time.monotonic())

    await asyncio.wait_for(waiting, 5)


@poses("S15")
def test_s15_a_frozen_loop_ends_renewing_and_the_process() -> None:
    """Leases of a loop that does not answer are left to expire."""
    store, left = Store(), threading.Event()
    frozen = pulse(Frozen(), patience=0.2)
    renewals = Renewals(Leases(30), store, frozen, period=0.05, leave=lambda _code: left.set())
    renewals.start()

    assert left.wait(10)
    count = len(store.asked)
    renewals.now()
    renewals.close()

    assert len(store.asked) == count


@poses("S15")
def test_s15_a_process_that_was_stopped_is_not_taken_for_frozen() -> None:
    """Silence counts only while the looking thread itself was awake."""
    watched = pulse(Frozen(), patience=60)
    watched._looked_at -= 1000

    assert not watched.is_gone()


def test_a_loop_that_answers_is_never_gone() -> None:
    """Each answer begins the count anew."""
    loop = EventLoop()
    watched = Pulse(loop, patience=0.0)
    until(watched._answered.is_set)

    assert not watched.is_gone()
    loop.close()


@poses("C10")
def test_c10_renewals_go_on_when_storage_comes_back() -> None:
    """A failed renewal is tried again soon by the same thread."""
    store = Store()
    store.away = True
    renewals = Renewals(Leases(30), store, pulse(Prompt()), period=0.01)
    renewals.start()
    until(lambda: len(store.asked) >= 2)

    store.away = False

    until(lambda: renewals._ticking.failures == 0)
    renewals.close()


async def _for_ever() -> object:
    await asyncio.Event().wait()
    return None
