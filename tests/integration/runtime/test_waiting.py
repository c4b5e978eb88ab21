"""Waiting: ends with the Turn, with its own time, or with the runtime; never ends the Turn."""

from __future__ import annotations

import asyncio
import functools
import itertools
import threading
import time
from typing import TYPE_CHECKING

import pytest
from asgiref.sync import sync_to_async

from sessions_app.contract.errors import Conflict, Invalid, Unavailable, WaitTimeout
from sessions_app.runtime import DurableRuntime, SessionHandle, waiting
from tests.covers import covers
from tests.stores import AGENT, in_thread

if TYPE_CHECKING:
    from sessions_app.contract.backend import Claim
    from tests.stores import Store


@covers("R021")
def test_call_gives_a_future_of_the_turn_that_has_ended(
    session: SessionHandle, store: Store
) -> None:
    """R021: it returns at once with the Turn admitted, and the future brings its end."""
    future = session.call("r1", "hello", timeout=20)
    (admitted,) = session.list_turns().items

    store.finish(store.claim())

    view = future.result(20)
    assert (admitted.status, view.status) == ("QUEUED", "COMPLETED")
    assert session.get_turn(view.turn_id).result() == {"parts": []}


@covers("R021")
async def test_the_awaitable_call_gives_the_same(runtime: DurableRuntime, store: Store) -> None:
    """R021: `acall` is the coroutine of it."""
    session = await runtime.acreate_session("acme", "s1", agent=AGENT.name)
    called = asyncio.create_task(session.acall("r1", "hello", timeout=20))
    claims: list[Claim] = []

    while not claims:
        claims = await sync_to_async(store.backend.claim)(store.host, limit=1)
    await sync_to_async(store.finish)(claims[0])

    assert (await called).status == "COMPLETED"


@pytest.mark.parametrize("seconds", ["2", True, -1, float("nan")], ids=str)
async def test_what_is_no_time_is_refused_before_anything_is_written(
    session: SessionHandle, seconds: float
) -> None:
    """A caller who mistypes the timeout has submitted nothing."""
    asked = await session.asubmit("r1", "hello")

    for wait in (asked.wait, functools.partial(session.call, "r2", "hello")):
        with pytest.raises(Invalid, match="seconds"):
            await sync_to_async(wait)(timeout=seconds)
    for later in (asked.await_result(seconds), session.acall("r2", "hello", seconds)):
        with pytest.raises(Invalid, match="seconds"):
            await later

    assert len((await sync_to_async(session.list_turns)()).items) == 1


@covers("R022")
def test_a_future_says_what_it_waited_for(session: SessionHandle) -> None:
    """R022: its timeout names Thread and Turn, and the Turn goes on."""
    future = session.call("r1", "hello", timeout=0.05)

    with pytest.raises(WaitTimeout, match="of thread acme/s1/main"):
        future.result(20)

    assert session.list_turns().items[0].status == "QUEUED"


@covers("R023")
def test_a_cancelled_future_cancels_no_work(session: SessionHandle, store: Store) -> None:
    """R023: nobody waits any more, and the Turn completes all the same."""
    future = session.call("r1", "hello")

    assert future.cancel()
    store.finish(store.claim())

    assert session.list_turns().items[0].status == "COMPLETED"


@covers("R023")
def test_closing_the_runtime_ends_its_futures(session: SessionHandle) -> None:
    """R023: each of them says so, and no Turn is touched."""
    futures = [session.call(f"r{number}", "hello") for number in range(3)]

    session.runtime.close()

    for future in futures:
        with pytest.raises(Unavailable, match="closed"):
            future.result(20)
    assert {view.status for view in session.list_turns().items} == {"QUEUED"}


@covers("R022")
def test_timeout_names_thread_and_turn(session: SessionHandle) -> None:
    """R022: who waited for several Turns knows which one did not end."""
    turn = session.submit("r1", "hello")

    with pytest.raises(WaitTimeout, match=f"turn {turn.turn_id} of thread acme/s1/main"):
        turn.wait(0.05)

    assert turn.status().status == "QUEUED"


def test_wait_without_time_looks_once(session: SessionHandle, store: Store) -> None:
    """A timeout of zero is a question, and an ended Turn its answer."""
    turn = session.submit("r1", "hello")
    with pytest.raises(WaitTimeout):
        turn.wait(0)
    store.finish(store.claim())

    assert turn.wait(0).status == "COMPLETED"


def test_result_of_an_unfinished_turn_is_a_conflict(session: SessionHandle, store: Store) -> None:
    """There is no result to take for nothing: the error says what was found instead."""
    turn = session.submit("r1", "hello")

    with pytest.raises(Conflict, match="QUEUED"):
        turn.result()
    store.fail(store.claim(), retryable=False)
    with pytest.raises(Conflict, match="FAILED"):
        turn.result()


@covers("R023", "R244")
def test_closing_the_runtime_ends_waits_only(session: SessionHandle) -> None:
    """R023, R244: the wait ends at once, the Turn goes on, closing again is harmless."""
    runtime = DurableRuntime()
    turn = runtime.get_session("acme", "s1").submit("r1", "hello")
    waiting_for = in_thread(lambda: turn.wait(30))

    runtime.close()
    runtime.close()

    with pytest.raises(Unavailable, match="closed"):
        waiting_for.result(20)
    assert session.get_turn(turn.turn_id).status().status == "QUEUED"


@covers("R023")
async def test_cancelled_wait_cancels_no_work(runtime: DurableRuntime) -> None:
    """R023: cancelling the awaiting task leaves the Turn as it is."""
    session = await runtime.acreate_session("acme", "s1", agent=AGENT.name)
    turn = await session.asubmit("r1", "hello")
    task = asyncio.create_task(turn.await_result())
    await turn.astatus()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await turn.astatus()).status == "QUEUED"


@covers("R022")
async def test_awaited_timeout_names_the_turn(runtime: DurableRuntime) -> None:
    """R022: the awaitable form says the same."""
    session = await runtime.acreate_session("acme", "s1", agent=AGENT.name)

    with pytest.raises(WaitTimeout, match="of thread acme/s1/main"):
        await session.acall("r1", "hello", timeout=0.05)


def test_pauses_are_a_quarter_of_the_time_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first looks come quickly, later ones cost little; the last one comes at the timeout."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    taken = []
    for pause in waiting.pauses(1.0):
        taken.append(round(pause, 3))
        now[0] += pause

    assert taken[:6] == [0.0, 0.01, 0.01, 0.01, 0.01, 0.01]
    assert sum(taken) == pytest.approx(1.0, abs=0.01)
    assert len(taken) < 25
    begun = list(itertools.accumulate(taken))
    late = [pause / at for at, pause in zip(begun[4:-2], taken[5:-1], strict=True)]
    assert max(late) <= 0.26


@covers("R013")
def test_one_runtime_serves_many_threads(runtime: DurableRuntime) -> None:
    """R013: threads share a runtime without a lock of their own."""
    ready = threading.Barrier(4)

    def submit(number: int) -> str:
        ready.wait(20)
        session = runtime.create_session("acme", f"s{number}", agent=AGENT.name)
        return session.submit("r1", "hello").turn_id

    futures = [in_thread(lambda number=number: submit(number)) for number in range(4)]  # type: ignore[misc]  # mypy cannot type a default of a lambda

    assert len({future.result(20) for future in futures}) == 4
