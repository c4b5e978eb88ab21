"""The loop, the database threads and the ticking threads of a process."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from django.db import OperationalError

from sessions_app.brain import database as module
from sessions_app.brain.database import Database
from sessions_app.brain.eventloop import EventLoop
from sessions_app.brain.ticking import Ticking
from sessions_app.contract.errors import Unavailable
from tests.covers import poses
from tests.unit.brain.brainlets import until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    """Give a loop in its own thread."""
    made = EventLoop()
    yield made
    made.close()


@pytest.fixture
def database() -> Iterator[Database]:
    """Give two database threads."""
    made = Database(2)
    yield made
    made.close()


def test_every_agent_runs_on_one_loop_in_one_thread(loop: EventLoop) -> None:
    """Two callers, one thread, which is none of theirs."""

    async def where() -> int:
        return threading.get_ident()

    assert loop.call(where()) == loop.call(where()) != threading.get_ident()


def test_closing_the_loop_cancels_what_still_runs(loop: EventLoop) -> None:
    """Nobody waits for ever for a loop that is gone."""
    waiting = loop.submit(asyncio.Event().wait())

    loop.close()

    until(waiting.cancelled)


@poses("S22")
async def test_s22_work_runs_on_a_database_thread_after_old_connections_were_looked_at(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece of work first drops connections that are known to be broken."""
    steps: list[str] = []
    monkeypatch.setattr(module, "close_old_connections", lambda: steps.append("looked"))

    def work(what: str) -> str:
        steps.append(what)
        return threading.current_thread().name

    assert (await database(work, "worked")).startswith("brain-db-")
    assert steps == ["looked", "worked"]


async def test_a_broken_connection_is_told_as_unavailable(database: Database) -> None:
    """Whoever waits hears one kind of error for "cannot be reached"."""

    def work() -> None:
        raise OperationalError

    with pytest.raises(Unavailable):
        await database(work)


async def test_cancelling_the_caller_does_not_stop_work_that_has_begun(database: Database) -> None:
    """A transaction ends as it ends; only nobody listens any more."""
    began, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go_on.wait(10)
        done.set()

    caller = asyncio.create_task(database(work))
    await asyncio.to_thread(began.wait, 10)
    caller.cancel()
    await asyncio.wait([caller])
    go_on.set()

    assert await asyncio.to_thread(done.wait, 10)


@poses("C10")
def test_c10_a_ticking_thread_survives_whatever_its_work_raises() -> None:
    """It counts, waits a little and goes on."""
    calls: list[int] = []

    def tick() -> float:
        calls.append(len(calls))
        if len(calls) < 3:
            raise ZeroDivisionError
        return 60.0

    ticking = Ticking("test", tick, longest_backoff=0.01)
    ticking.start()
    until(lambda: len(calls) == 3 and ticking.failures == 0)
    ticking.now()

    until(lambda: len(calls) == 4)
    ticking.close()
