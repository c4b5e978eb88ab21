"""Updates that came before their predecessors: kept for a moment, so that nobody has to ask twice.

Only a matter of time, never of truth: whatever is forgotten here is told again by the ledger.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.messages import Update

_STRIPES: Final = 64
MOST: Final = 256
LARGEST: Final = 64 * 1024
"""Characters of an envelope that is worth keeping."""


class Early:
    """The early updates of this process, by execution; bounded, the oldest execution goes first."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: OrderedDict[str, dict[int, Update]] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()
        self._stripes = [threading.Lock() for _ in range(_STRIPES)]

    @contextmanager
    def alone(self, execution_id: str) -> Iterator[None]:
        """Let one thread of this process at a time take updates of an execution in.

        Without it a predecessor could be applied between a look at the prefix and the keeping.
        """
        with self._stripes[hash(execution_id) % _STRIPES]:
            yield

    def keep(self, update: Update, size: int) -> bool:
        """Keep an update; True when it is the first of its execution, so that somebody must ask."""
        with self._lock:
            known = self._kept.get(update.execution_id)
            if size <= LARGEST:
                self._add(update)
            return known is None

    def next(self, execution_id: str, position: int) -> Update | None:
        """Take the update that follows `position`; what lies before it is forgotten."""
        with self._lock:
            kept = self._kept.get(execution_id, {})
            for old in [number for number in kept if number <= position]:
                self._drop(execution_id, old)
            found = kept.get(position + 1)
            if found is not None:
                self._drop(execution_id, position + 1)
            return found

    def _add(self, update: Update) -> None:
        kept = self._kept.setdefault(update.execution_id, {})
        self._count += update.sequence not in kept
        kept[update.sequence] = update
        while self._count > MOST:
            _, forgotten = self._kept.popitem(last=False)
            self._count -= len(forgotten)

    def _drop(self, execution_id: str, sequence: int) -> None:
        kept = self._kept[execution_id]
        del kept[sequence]
        self._count -= 1
        if not kept:
            del self._kept[execution_id]
