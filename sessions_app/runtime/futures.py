"""Futures of Turns, which `call` gives (R021). One thread looks at all while there are any."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import connections

from sessions_app.runtime import waiting
from sessions_app.store import reads

if TYPE_CHECKING:
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.views import TurnView


@dataclass(frozen=True, slots=True, eq=False)
class _Promise:
    turn_id: str
    key: ThreadKey
    timeout: float | None
    end: float
    future: Future[TurnView] = field(default_factory=Future)

    def look(self, closed: threading.Event) -> TurnView | None:
        """The ended Turn, or None while it goes on; raises as `waiting.wait` does."""
        if closed.is_set():
            raise waiting.closed_error(self.turn_id, self.key)
        view = reads.turn(self.turn_id, self.key)
        if view.is_terminal:
            return view
        if time.monotonic() >= self.end:
            raise waiting.timeout_error(self.turn_id, self.key, self.timeout)
        return None


class Futures:
    """Those of one runtime. Cancelling one, as closing the runtime, cancels no work (R023)."""

    def __init__(self, closed: threading.Event) -> None:
        """`closed` ends them all."""
        self._closed = closed
        self._lock = threading.Lock()
        self._open: list[_Promise] = []
        self._watched = False

    def of(self, turn_id: str, key: ThreadKey, timeout: float | None) -> Future[TurnView]:
        """A future of the Turn's end, or of the error that says why nobody waits any more."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        promise = _Promise(turn_id, key, timeout, end)
        with self._lock:
            self._open.append(promise)
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="durable-futures", daemon=True).start()
        return promise.future

    def _watch(self) -> None:
        try:
            while waited := self._still_open():
                done = [promise for promise in waited if self._settle(promise)]
                with self._lock:
                    self._open = [promise for promise in self._open if promise not in done]
                if not done:
                    self._closed.wait(waiting.LONGEST_PAUSE / 5)
        finally:
            connections.close_all()

    def _still_open(self) -> list[_Promise]:
        with self._lock:
            self._watched = bool(self._open)
            return list(self._open)

    def _settle(self, promise: _Promise) -> bool:
        """Whether it needs no further look."""
        if promise.future.cancelled():
            return True
        try:
            view = promise.look(self._closed)
        except Exception as error:  # noqa: BLE001 # outermost: whoever holds the future gets it
            if promise.future.set_running_or_notify_cancel():
                promise.future.set_exception(error)
            return True
        if view is not None and promise.future.set_running_or_notify_cancel():
            promise.future.set_result(view)
        return view is not None
