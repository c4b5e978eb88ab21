"""One asyncio loop in a thread of its own, for every agent of the process (S22)."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

T = TypeVar("T")

TOOL_THREADS: Final = 64
_STOP_SECONDS: Final = 5.0


class EventLoop:
    """The loop and its thread, made after the fork.

    Async model clients are bound to a loop, so there is exactly one.
    """

    def __init__(self) -> None:
        """Start the thread; work may be given to it at once."""
        self._loop = asyncio.new_event_loop()
        # Python's own default is a handful, which slow tools would take from name look-ups too.
        self._tools = ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix="brain-tool")
        self._loop.set_default_executor(self._tools)
        self._thread = threading.Thread(target=self._run, name="brain-loop", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop; callable from any thread but the loop's own."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run a coroutine on the loop and wait for what it returns."""
        return self.submit(work).result(timeout)

    def ask(self) -> threading.Event:
        """Give an event that is set when the loop answers: how a frozen one is noticed (S15)."""
        answered = threading.Event()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(answered.set)
        return answered

    def close(self) -> None:
        """Cancel what still runs and end the thread; a frozen loop is left to the process's end."""
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._end_tasks()
            self._loop.close()

    def _end_tasks(self) -> None:
        """Cancel and wait a little: a task that ignores its cancellation is abandoned."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=_STOP_SECONDS / 2))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._tools.shutdown(wait=False, cancel_futures=True)
