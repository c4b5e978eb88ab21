"""The Executor port over Celery: commands and controls leave for the queues of their pool."""

from __future__ import annotations

import logging
import os
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from kombu.exceptions import OperationalError

from hands_app.contract import queues
from sessions_app.ports import ExecutorCapabilities

if TYPE_CHECKING:
    from celery import Celery
    from kombu import Connection

log = logging.getLogger(__name__)

SEND_SECONDS: Final = 1.0
EXECUTE: Final = "hands_app.execute"
CONTROL: Final = "hands_app.control"


class Message(NamedTuple):
    """One envelope on its way."""

    task: str
    queue: str
    envelope: str


class CeleryDelivery:
    """Sends one message at a time, from a daemon thread that is made with the first.

    Socket timeouts bound most waits for a broker, but not all: one that accepts and never answers
    may hold a sender for longer. Then the caller is told "not confirmed" after a second, and so is
    everybody else, at once, until the sender comes back.
    """

    capabilities = ExecutorCapabilities(query=True, cancel=True, output=True)

    def __init__(self, app: Celery, namespace: str) -> None:
        """`app` knows the broker; `namespace` is the prefix of the queues."""
        self._app = app
        self._namespace = namespace
        self._lock = threading.Lock()
        self._sender: Sender | None = None

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """See the port."""
        task, queue = (CONTROL, queues.controls) if control else (EXECUTE, queues.commands)
        message = Message(task, queue(self._namespace, route), envelope)
        with self._lock:
            return self._own().send(message)

    def close(self) -> None:
        """End the sender and its connection; sending again makes others."""
        with self._lock:
            sender, self._sender = self._sender, None
        if sender is not None and sender.pid == os.getpid():
            sender.close()

    def _own(self) -> Sender:
        """This process's sender; one inherited over a fork has no thread here (S22)."""
        if self._sender is None or self._sender.pid != os.getpid():
            self._sender = Sender(self._app)
        return self._sender


class Sender:
    """The thread and its connection; a connection that failed is not used again."""

    def __init__(self, app: Celery) -> None:
        """Start the thread."""
        self.pid = os.getpid()
        self._app = app
        self._connection: Connection | None = None
        self._last: Future[None] | None = None
        self._line: SimpleQueue[tuple[Future[None], Message] | None] = SimpleQueue()
        threading.Thread(target=self._run, name="hands-delivery", daemon=True).start()

    def send(self, message: Message) -> bool:
        """Say whether the broker has it, within a second."""
        if self._last is not None and not self._last.done():
            return False
        self._last = Future()
        self._line.put((self._last, message))
        try:
            self._last.result(SEND_SECONDS)
        except (OperationalError, OSError) as error:
            log.warning("%s was not confirmed: %s", message.task, type(error).__name__)
            return False
        return True

    def close(self) -> None:
        """Let the thread end behind what it does now; waits for nobody."""
        self._line.put(None)

    def _run(self) -> None:
        while (next_one := self._line.get()) is not None:
            sent, message = next_one
            try:
                self._publish(message)
            except Exception as error:  # noqa: BLE001 # outermost: handed to whoever waits
                self._drop()
                sent.set_exception(error)
            else:
                sent.set_result(None)
        self._drop()

    def _publish(self, message: Message) -> None:
        if self._connection is None:
            self._connection = self._app.connection_for_write()
        with self._connection.Producer() as producer:
            self._app.send_task(
                message.task,
                args=(message.envelope,),
                queue=message.queue,
                producer=producer,
                retry=False,
                argsrepr=queues.NO_ARGUMENTS,
                confirm_timeout=SEND_SECONDS,
                ignore_result=True,
            )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.release()
            self._connection = None
