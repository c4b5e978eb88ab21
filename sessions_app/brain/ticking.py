"""Threads that do one thing again and again, whatever goes wrong (S15, C10)."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from django.db import connections

from sessions_app.brain.database import fresh
from sessions_app.brain.failure import trace

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

FIRST_BACKOFF: Final = 0.25
LONGEST_BACKOFF: Final = 1.0
_JOIN_SECONDS: Final = 5.0


class Ticking:
    """Calls `tick` until closed; it returns the seconds to the next call.

    An error is counted, logged once per burst and followed by a short pause; the thread and its
    process go on. The thread has a database connection of its own.
    """

    def __init__(
        self, name: str, tick: Callable[[], float], longest_backoff: float = LONGEST_BACKOFF
    ) -> None:
        """Nothing runs before `start`."""
        self.name = name
        self._longest = longest_backoff
        self.failures = 0
        self._tick = tick
        self._closed = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first call comes at once."""
        self._thread.start()

    def now(self) -> None:
        """Call `tick` again without waiting for its time."""
        self._wake.set()

    def close(self) -> None:
        """End after the call that runs now; waits for it a few seconds."""
        self._closed = True
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while not self._closed:
            self._wake.clear()
            delay = self._once()
            self._wake.wait(delay)
        connections.close_all()

    def _once(self) -> float:
        try:
            delay = fresh(self._tick)
        except Exception as error:  # noqa: BLE001 # outermost: recorded, then the thread goes on
            return self._failed(error)
        if self.failures:
            log.info("%s works again after %d failures", self.name, self.failures)
        self.failures = 0
        return delay

    def _failed(self, error: Exception) -> float:
        self.failures += 1
        if self.failures == 1:
            log.warning("%s failed and will be tried again: %s", self.name, trace(error))
        return min(FIRST_BACKOFF * self.failures, self._longest)
