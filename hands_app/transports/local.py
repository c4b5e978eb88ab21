"""Both ways between a Brain and a host in its own process: no queue, the same ledger (R174)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from hands_app.contract.errors import HandsError
from hands_app.contract.wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.messages import Update

_log = logging.getLogger(__name__)


class Obeys(Protocol):
    """What takes commands: a host."""

    def execute(self, text: str) -> None:
        """Admit one execute command; raises Rejected or Unavailable."""

    def control(self, text: str) -> None:
        """Obey one cancel or query; raises Rejected or Unavailable."""


class LocalEndpoint:
    """What a worker lends to a Brain in its process; the worker itself is no executor (R197).

    It neither starts nor closes the worker: that is for whoever made it (R198).
    """

    def __init__(self, host: Obeys) -> None:
        self._host = host

    def send(self, envelope: str, *, control: bool = False) -> bool:
        """Hand over one envelope; True once it is durable, False when it was not taken."""
        try:
            (self._host.control if control else self._host.execute)(envelope)
        except HandsError as error:
            _log.warning("a command was not taken: %s: %s", error.code, error)
            return False
        return True


class LocalUpdates:
    """Implements `worker.ports.Publisher` by a call; the ledger keeps what was not taken.

    `bind` names the call; it returns once the update is committed or says nothing, and raises
    when it has to be brought again.
    """

    def __init__(self) -> None:
        self._receive: Callable[[str], object] | None = None

    def bind(self, receive: Callable[[str], object]) -> None:
        """Give updates to `receive` from now on."""
        self._receive = receive

    def publish(self, updates: Sequence[Update]) -> int:
        """Bring them in order; return how many were taken."""
        if self._receive is None:
            return 0
        for number, update in enumerate(updates):
            try:
                self._receive(encode(update))
            except Exception as error:  # noqa: BLE001 - the outermost frame of foreign code
                _log.warning("update %s was not taken: %s", update.event_id, type(error).__name__)
                return number
        return len(updates)
