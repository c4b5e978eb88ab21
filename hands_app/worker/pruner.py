"""Prunes the ledger now and then, in small steps; any number of hosts may do so at once (S8)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from hands_app.worker.rhythm import Rhythm

if TYPE_CHECKING:
    from hands_app.worker.ports import Retention

_BATCH: Final = 200
_BATCHES: Final = 20
_log = logging.getLogger(__name__)


class Pruner:
    """Every `seconds` at most 20 batches of 200, so that it never holds the ledger for long."""

    def __init__(self, retention: Retention, seconds: float) -> None:
        self._retention = retention
        self._rhythm = Rhythm("hands-pruner", self._step, seconds)
        self._is_stopping = False

    def start(self) -> None:
        """Begin; the first look comes at once."""
        self._rhythm.start()

    def stop(self) -> None:
        """Begin no further batch."""
        self._is_stopping = True
        self._rhythm.stop()

    def _step(self) -> None:
        done = 0
        for _ in range(_BATCHES):
            pruned = self._retention.prune(_BATCH)
            done += pruned.total
            if self._is_stopping or _BATCH not in {pruned.emptied, pruned.removed, pruned.hosts}:
                break
        if done:
            _log.info("pruned %d rows", done)
