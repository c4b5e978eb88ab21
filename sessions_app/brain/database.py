"""The threads that do a process's database work: 200 Turns need few connections, not 200 (S22)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from sessions_app.contract.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")
_Job = tuple[Future[Any], Callable[[], Any]]

_CLOSE_SECONDS: Final = 5.0


def fresh(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run one piece of database work in this thread, never on a connection known to be broken.

    Raises Unavailable for whatever says that the database cannot be reached.
    """
    close_old_connections()
    try:
        return work(*args, **kwargs)
    except (OperationalError, InterfaceError) as error:
        msg = "the database cannot be reached; nothing is known to be written, try again"
        raise Unavailable(msg) from error


class Database:
    """A small executor: a transaction is one function on one thread.

    Each thread has a lasting connection of its own.
    """

    def __init__(self, threads: int) -> None:
        """Start the threads. They connect when they are first used."""
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"brain-db-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on one of the threads; cancelling the caller does not stop what has begun."""
        return await asyncio.wrap_future(self.submit(work, *args, **kwargs))

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The same for callers outside the loop."""
        future: Future[T] = Future()
        self._jobs.put((future, lambda: fresh(work, *args, **kwargs)))
        return future

    def close(self) -> None:
        """Finish what is queued, close the connections and end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            _answer(*job)
            del job
        connections.close_all()


def _answer(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        answer = work()
    except BaseException as error:  # noqa: BLE001 - outermost: handed to who waits
        future.set_exception(error)
    else:
        future.set_result(answer)
