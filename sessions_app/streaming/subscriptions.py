"""Subscriptions: callbacks that follow a Session on few threads of their own (R105 to R112).

Every look is a poll, so no hint is needed. A subscription is in the hands of one thread at a time;
after each page it goes to the back of the line, so that a long history delays nobody by more.
"""

from __future__ import annotations

import heapq
import inspect
import itertools
import logging
import threading
import time
from typing import TYPE_CHECKING, Final, TypeAlias

from sessions_app.contract.errors import Closed, Invalid
from sessions_app.contract.observing import position

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.observing import Observed, SessionEventClient

    Listener: TypeAlias = Callable[[Observed], object]
    OnError: TypeAlias = Callable[[Exception], object]

log = logging.getLogger(__name__)

PARALLELISM: Final = 2
POLL_SECONDS: Final = 0.25
CLOSE_SECONDS: Final = 5.0
_PAGE: Final = 100


def checked_listener(listener: object) -> None:
    """Raise Invalid for a coroutine function, which nobody would await."""
    if not callable(listener) or inspect.iscoroutinefunction(listener):
        msg = "a listener is a plain function; in asynchronous code follow a stream"
        raise Invalid(msg)


class Subscription:
    """One listener. Its cursor moves only over what the listener took; delivery is at least once.

    Effects need idempotency, and a cursor that is to survive belongs beside what was made of it.
    """

    def __init__(
        self,
        client: SessionEventClient,
        listener: Listener,
        cursor: str | None,
        on_error: OnError | None,
    ) -> None:
        self.cursor: str | None = cursor
        self.last_failure: Exception | None = None
        self._client = client
        self._listener = listener
        self._on_error = on_error
        self._closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is delivered; a callback that runs may finish."""
        return self._closed.is_set()

    def close(self) -> None:
        """Detach this listener alone; cancels no work. Also from inside the callback."""
        self._closed.set()

    def deliver(self) -> bool:
        """Look once and hand over what there is; True when there may be more at once."""
        try:
            found = self._client.poll(self.cursor, _PAGE)
            for item in found.items:
                if self.is_closed:
                    return False
                self._listener(item)
                self.cursor = position(item)
        except Exception as error:  # noqa: BLE001 # outermost: told to the host, tried again
            self._failed(error)
            return False
        self.cursor = found.cursor
        return not found.is_at_end

    def _failed(self, error: Exception) -> None:
        self.last_failure = error
        log.info("%s: an observer's turn failed: %r", self._client.key, error)
        if self._on_error is None:
            return
        try:
            self._on_error(error)
        except Exception:  # outermost: a report that fails must not stop the next try
            log.exception("%s: the report of an observer's failure failed", self._client.key)


class Observers:
    """The threads of all subscriptions of one runtime; they begin with the first of these."""

    def __init__(
        self,
        parallelism: int = PARALLELISM,
        poll_seconds: float = POLL_SECONDS,
        let_go: Callable[[], object] = lambda: None,
    ) -> None:
        """`let_go` frees what a thread holds, such as a connection, when it ends.

        Raises Invalid for a parallelism with which nothing would ever be delivered.
        """
        if type(parallelism) is not int or parallelism < 1:
            msg = f"observer_parallelism is a number of threads from 1 on, not {parallelism!r:.40}"
            raise Invalid(msg)
        self._parallelism = parallelism
        self._poll_seconds = poll_seconds
        self._let_go = let_go
        self._changed = threading.Condition()
        self._line: list[tuple[float, int, Subscription]] = []
        self._number = itertools.count()
        self._all: set[Subscription] = set()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def add(self, subscription: Subscription) -> Subscription:
        """Deliver to it from now on; raises Closed for observers that were closed."""
        with self._changed:
            if self._closed:
                msg = "the runtime was closed; subscribe with another"
                raise Closed(msg)
            self._all.add(subscription)
            self._put(subscription, 0.0)
            if len(self._threads) < min(self._parallelism, len(self._all)):
                thread = threading.Thread(target=self._run, name="observer", daemon=True)
                self._threads.append(thread)
                thread.start()
        return subscription

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """End all subscriptions; callbacks that run may finish, and are waited for so long.

        From inside a callback it waits for the others only.
        """
        with self._changed:
            self._closed = True
            for each in self._all:
                each.close()
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    def __len__(self) -> int:
        """How many are open."""
        with self._changed:
            return sum(not each.is_closed for each in self._all)

    def _run(self) -> None:
        try:
            while (subscription := self._next()) is not None:
                more = subscription.deliver()
                with self._changed:
                    self._put(subscription, 0.0 if more else self._poll_seconds)
        finally:
            self._let_go()

    def _next(self) -> Subscription | None:
        """Wait for whoever is due first; None once all is closed."""
        with self._changed:
            while not self._closed:
                left = self._line[0][0] - time.monotonic() if self._line else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._line)[2]
                self._changed.wait(left)
            return None

    def _put(self, subscription: Subscription, pause: float) -> None:
        if subscription.is_closed:
            self._all.discard(subscription)
            return
        due = time.monotonic() + pause
        heapq.heappush(self._line, (due, next(self._number), subscription))
        self._changed.notify()
