"""Sends updates to the Brain as Celery tasks by name; a failure is an answer, not an error."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kombu.exceptions import OperationalError

from hands_app.contract import queues
from hands_app.contract.wire import encode
from hands_app.transports.broker import SEND_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celery import Celery
    from kombu import Connection

    from hands_app.contract.messages import Update

RECEIVE: Final = "sessions_app.receive"
_log = logging.getLogger(__name__)


class CeleryUpdates:
    """Implements `worker.ports.Publisher`; its connection belongs to the courier's thread alone.

    Each send waits for the broker at most as long as the app's socket timeouts say.
    """

    def __init__(self, app: Celery, queue: str) -> None:
        self._app = app
        self._queue = queue
        self._connection: Connection | None = None

    def publish(self, updates: Sequence[Update]) -> int:
        """Send in order; return how many the broker has taken."""
        for number, update in enumerate(updates):
            try:
                self._send(encode(update))
            except (OperationalError, OSError) as error:
                _log.warning("update %s was not sent: %s", update.event_id, type(error).__name__)
                self.close()
                return number
        return len(updates)

    def close(self) -> None:
        """Drop the connection; the next send makes another."""
        if self._connection is not None:
            self._connection.release()
            self._connection = None

    def _send(self, text: str) -> None:
        if self._connection is None:
            self._connection = self._app.connection_for_write()
        with self._connection.Producer() as producer:
            self._app.send_task(
                RECEIVE,
                args=[text],
                queue=self._queue,
                producer=producer,
                retry=False,
                argsrepr=queues.NO_ARGUMENTS,
                confirm_timeout=SEND_SECONDS,
                ignore_result=True,
            )
