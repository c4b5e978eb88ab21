"""Brings updates from the outbox to the Brain; the ledger keeps what could not be sent (R187)."""

from __future__ import annotations

import logging
import queue
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract.faults import declare, faultpoint
from hands_app.worker.rhythm import Rhythm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.messages import Update
    from hands_app.worker.ports import Outbox, Publisher

declare("hands.publish.before_send", "hands.publish.after_send")

_WAITING: Final = 1000
_BATCH: Final = 100
_REPAIR_SECONDS: Final = 1.0
_OLD: Final = timedelta(seconds=2)
_log = logging.getLogger(__name__)


class Courier:
    """`tell` never waits; `failures` counts sendings that the broker did not take."""

    def __init__(self, outbox: Outbox, publisher: Publisher) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._fresh: queue.Queue[Update] = queue.Queue(_WAITING)
        self._repair_at = 0.0
        self._is_behind = False
        self._rhythm = Rhythm("hands-courier", self._step, _REPAIR_SECONDS)
        self.failures = 0

    def start(self) -> None:
        """Begin to send."""
        self._rhythm.start()

    def tell(self, updates: Sequence[Update]) -> None:
        """Hand over updates just committed; what does not fit is found in the outbox later."""
        try:
            for update in updates:
                self._fresh.put_nowait(update)
        except queue.Full:
            self._is_behind = True
        if updates:
            self._rhythm.wake()

    def close(self, seconds: float = 5) -> None:
        """Stop and send what waits, within bounds; the ledger keeps what the broker does not take.

        After this the publisher is not used any more, so whoever lent it may close it (R258, R259).
        """
        deadline = time.monotonic() + seconds
        if not self._rhythm.stop(seconds):
            return
        while updates := self._take() or self._left_behind():
            if not self._send(updates) or time.monotonic() > deadline:
                return

    def _left_behind(self) -> list[Update]:
        """Read from the outbox what was not at hand: it had no room, or was refused before."""
        if not self._is_behind:
            return []
        return self._outbox.unpublished(_BATCH, older_than=timedelta(0))

    def _step(self) -> None:
        while updates := self._take():
            if not self._send(updates):
                self._repair_at = time.monotonic() + _REPAIR_SECONDS
                return
        if time.monotonic() >= self._repair_at:
            self._repair_at = time.monotonic() + _REPAIR_SECONDS
            self._send(self._outbox.unpublished(_BATCH, older_than=_OLD))

    def _take(self) -> list[Update]:
        taken: list[Update] = []
        with suppress(queue.Empty):
            while len(taken) < _BATCH:
                taken.append(self._fresh.get_nowait())
        return taken

    def _send(self, updates: Sequence[Update]) -> bool:
        """Send in order, mark what the broker took; False when it did not take all."""
        if not updates:
            return True
        faultpoint("hands.publish.before_send")
        taken = self._publisher.publish(updates)
        faultpoint("hands.publish.after_send")
        self._outbox.mark_published(updates[:taken])
        if taken < len(updates):
            self.failures += 1
            self._is_behind = True
            _log.warning("the broker took %d of %d updates", taken, len(updates))
        return taken == len(updates)
