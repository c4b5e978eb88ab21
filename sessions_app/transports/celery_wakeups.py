"""The Wakeups port over Celery: hints leave through an own thread and may be lost (S15, S16).

A broker that is down or silent costs the sender of a hint nothing: the queue is bounded, a full one
drops, and whatever goes wrong is counted and logged once per burst.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from dataclasses import dataclass
from queue import Full, Queue
from typing import TYPE_CHECKING, Final

from celery import current_app
from django.conf import settings

from sessions_app.transports.doorbell import Doorbell, doorbell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sessions_app.contract.identity import DefinitionKey

log = logging.getLogger(__name__)

QUEUE_SIZE: Final = 1000
_EXIT_SECONDS: Final = 1.0

Hint = tuple[str, "DefinitionKey"]


@dataclass(slots=True)
class Counts:
    """What became of hints since this process began."""

    sent: int = 0
    coalesced: int = 0
    dropped: int = 0
    failed: int = 0


class CeleryWakeups:
    """One queue and one thread for each process, made with the first hint, hence after any fork."""

    def __init__(
        self, send: Callable[[str], object] | None = None, bell: Doorbell | None = None
    ) -> None:
        """`send` publishes a hint about one Thread; by default as the task `advance`."""
        self._send = send or _publish
        self._given_bell = bell
        self._outbox: Outbox | None = None
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counts:
        """What became of this process's hints."""
        return self._own().counts

    def ring(self, thread_pk: str, definition: DefinitionKey) -> None:
        """See the port."""
        self._own().put((thread_pk, definition))

    def answer(self, definitions: Iterable[DefinitionKey]) -> None:
        """A receiver that can run these definitions heard the bell, and looks after this call."""
        self._own().bell.clear(definitions)

    def flush(self, timeout: float) -> bool:
        """Wait until what is queued has left; False when that takes longer."""
        return self._own().flush(timeout)

    def _own(self) -> Outbox:
        """This process's outbox; one inherited over a fork belongs to the parent."""
        with self._lock:
            if self._outbox is None or self._outbox.pid != os.getpid():
                bell = self._given_bell or doorbell(settings.DURABLE)
                self._outbox = Outbox(self._send, bell)
            return self._outbox


class Outbox:
    """The bounded queue and the daemon thread that empties it."""

    def __init__(self, send: Callable[[str], object], bell: Doorbell) -> None:
        """Start the thread. At the process's end it gets a moment for what is queued."""
        self.pid = os.getpid()
        self.bell = bell
        self.counts = Counts()
        self._send = send
        self._fails = False
        self._queue: Queue[Hint] = Queue(QUEUE_SIZE)
        threading.Thread(target=self._run, name="brain-hints", daemon=True).start()
        atexit.register(self._at_exit)

    def put(self, hint: Hint) -> None:
        """Queue a hint, or drop it."""
        try:
            self._queue.put_nowait(hint)
        except Full:
            self.counts.dropped += 1

    def flush(self, timeout: float) -> bool:
        """Wait for the queue to become empty."""
        with self._queue.all_tasks_done:
            return self._queue.all_tasks_done.wait_for(self._is_idle, timeout)

    def _is_idle(self) -> bool:
        return not self._queue.unfinished_tasks

    def _run(self) -> None:
        while True:
            self._deliver(self._queue.get())
            self._queue.task_done()

    def _deliver(self, hint: Hint) -> None:
        thread_pk, definition = hint
        try:
            if not self.bell.press(definition):
                self.counts.coalesced += 1
                return
            self._publish(thread_pk, definition)
        except Exception as error:  # noqa: BLE001 # outermost: a hint may be lost, its thread goes on
            self._failed(error)
        else:
            self.counts.sent += 1
            self._fails = False

    def _publish(self, thread_pk: str, definition: DefinitionKey) -> None:
        """Send, or take the flag away again: a flag without a message would silence others."""
        try:
            self._send(thread_pk)
        except BaseException:
            self.bell.clear([definition])
            raise

    def _failed(self, error: Exception) -> None:
        """Say the first of a burst; drop what waits behind a broker that is away."""
        self.counts.failed += 1
        if not self._fails:
            log.warning("hints cannot be sent, scans find the work: %s", type(error).__name__)
        self._fails = True

    def _at_exit(self) -> None:
        if os.getpid() == self.pid:
            self.flush(_EXIT_SECONDS)


def _publish(thread_pk: str) -> None:
    """One message, tried once; its route is in Celery's settings."""
    current_app.send_task(
        "sessions_app.advance", args=(thread_pk,), ignore_result=True, retry=False
    )
