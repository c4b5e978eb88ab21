"""How often somebody may ask: a token bucket for each identity, in each process (T7)."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.conf import settings

from sessions_app.contract.errors import RateLimited

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.grants import Identity

_BURST_SECONDS: Final = 2.0
"""Of the rate that may come at once."""
_MOST: Final = 10_000
"""Identities that are remembered; those longest silent are forgotten, with a full bucket."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Limits:
    """Thread-safe; `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with every bucket full."""
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, _Bucket] = {}

    def take(self, identity: Identity) -> None:
        """Count a request; raises RateLimited, with the seconds until the next may come."""
        rate = identity.rate or settings.DURABLE["API_RATE"]
        if rate is None:
            return
        room = max(1.0, rate * _BURST_SECONDS)
        with self._lock:
            now = self._clock()
            bucket = self._buckets.pop(identity.subject, None) or _Bucket(room, now)
            bucket.left = min(room, bucket.left + (now - bucket.at) * rate)
            bucket.at = now
            self._buckets[identity.subject] = bucket  # last: dictionaries keep the order
            if len(self._buckets) > _MOST:
                del self._buckets[next(iter(self._buckets))]
            if bucket.left >= 1:
                bucket.left -= 1
                return
            wait = math.ceil((1 - bucket.left) / rate)
        msg = f"{identity.subject} asks more than {rate:g} times a second; come again in {wait} s"
        raise RateLimited(msg, wait)

    def forget(self) -> None:
        """Fill every bucket."""
        with self._lock:
            self._buckets.clear()


LIMITS: Final = Limits()
"""Of this process."""
