"""Keeps updates for a Brain that fetches them, until it says that it has them (R184, R187)."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hands_app.contract.messages import Update
    from hands_app.worker.ports import Outbox

_KEPT: Final = 1000
_REPAIR_SECONDS: Final = 1.0
_OLD: Final = timedelta(seconds=2)
LEND_SECONDS: Final = 5.0
"""After this long without a word an update is given out again."""


class Shelf:
    """Stands where a courier does. The ledger is the truth, memory only makes it quick.

    Several Brains may fetch: each update goes to one of them for a while, and to another when
    nobody acknowledges it. What memory has no place for is found in the ledger.
    """

    failures = 0

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._told: OrderedDict[str, Update] = OrderedDict()
        self._lent_until: dict[str, float] = {}
        self._repair_at = 0.0
        self._lock = threading.Lock()
        self._listeners: set[Callable[[], None]] = set()

    def start(self) -> None:
        """Nothing runs here: whoever fetches does the work."""

    def tell(self, updates: Sequence[Update]) -> None:
        """Put updates on the shelf that were just committed, and wake whoever waits."""
        if not updates:
            return
        with self._lock:
            self._add(updates)
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def close(self) -> None:
        """Leave everything to the ledger."""

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever there is something new, from any thread."""
        with self._lock:
            self._listeners.add(listener)

    def ignore(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        with self._lock:
            self._listeners.discard(listener)

    def take(self, limit: int) -> list[Update]:
        """Give out what nobody has been given lately, the oldest first; raises Unavailable."""
        if time.monotonic() >= self._repair_at:
            self._repair_at = time.monotonic() + _REPAIR_SECONDS
            found = self._outbox.unpublished(_KEPT, older_than=_OLD)
            with self._lock:
                self._add(found)
        now = time.monotonic()
        with self._lock:
            free = [each for each in self._told if self._lent_until.get(each, 0.0) <= now][:limit]
            self._lent_until |= dict.fromkeys(free, now + LEND_SECONDS)
            return [self._told[each] for each in free]

    def acknowledge(self, event_ids: Collection[str]) -> None:
        """Forget what a Brain has taken in; raises Unavailable. Saying it again is harmless."""
        self._outbox.mark_taken(event_ids)
        with self._lock:
            for each in event_ids:
                self._told.pop(each, None)
                self._lent_until.pop(each, None)

    def _add(self, updates: Sequence[Update]) -> None:
        for update in updates:
            self._told.setdefault(update.event_id, update)
        while len(self._told) > _KEPT:
            forgotten, _ = self._told.popitem(last=False)
            self._lent_until.pop(forgotten, None)
