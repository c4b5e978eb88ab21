"""How many streams a process has, and each identity of them: told before a body begins (T7)."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

from django.conf import settings

from sessions_app.contract.errors import RateLimited, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.grants import Identity

_LATER: Final = 10
"""Seconds until a seat may be free."""


class Seats:
    """Thread-safe."""

    def __init__(self) -> None:
        """Begin with nobody seated."""
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def take(self, identity: Identity) -> Callable[[], None]:
        """Take a seat; returns what gives it back, once.

        Raises RateLimited when this identity has all of its own, Unavailable when nobody gets one.
        """
        mine, all_ = settings.DURABLE["STREAMS_EACH"], settings.DURABLE["STREAMS"]
        with self._lock:
            if self._taken[identity.subject] >= mine:
                msg = f"{identity.subject} has {mine} streams here; close one"
                raise RateLimited(msg, _LATER)
            if self._taken.total() >= all_:
                msg = f"this process has {all_} streams; try another, or later"
                raise Unavailable(msg)
            self._taken[identity.subject] += 1
        left = threading.Event()

        def leave() -> None:
            with self._lock:
                if not left.is_set():
                    left.set()
                    self._taken -= Counter({identity.subject: 1})

        return leave

    def __len__(self) -> int:
        """How many are taken."""
        with self._lock:
            return self._taken.total()


SEATS: Final = Seats()
"""Of this process."""
