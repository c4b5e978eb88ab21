"""How a host ends: once, in a thread of its own, whoever asks for it and from wherever."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORCED_SECONDS: Final = 5.0
"""Longest wait of a forced close (R260)."""


class Closing:
    """Runs `end` at the first call of `begin`, and then `afterwards`, which nobody waits for."""

    def __init__(self, end: Callable[[], None], afterwards: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._end = end
        self._afterwards = afterwards
        self._begun = threading.Event()
        self._ended = threading.Event()

    @property
    def is_begun(self) -> bool:
        """Whether somebody asked for the end."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Begin to end; again is harmless."""
        with self._lock:
            if not self.is_begun:
                self._begun.set()
                threading.Thread(target=self._run, name="hands-closing", daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; False when the time is up first."""
        return self._ended.wait(seconds)

    def wait_until_begun(self, seconds: float) -> bool:
        """Wait so long for somebody to ask for the end."""
        return self._begun.wait(seconds)

    def _run(self) -> None:
        try:
            self._end()
        finally:
            self._ended.set()
        self._afterwards()


class Door:
    """Lets commands in and counts those inside, so that a close can wait for them (R258)."""

    def __init__(self) -> None:
        self._inside = 0
        self._admits = True
        self._obeys = True
        self._changed = threading.Condition()

    @contextmanager
    def admitting(self) -> Iterator[None]:
        """Hold the door for one execute command; raises Unavailable once the host drains."""
        self._enter(lambda: self._admits, "this host drains and admits nothing")
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def obeying(self) -> Iterator[None]:
        """Hold the door for one control, also while the host drains; raises Unavailable later."""
        self._enter(lambda: self._obeys, "this host is closed")
        try:
            yield
        finally:
            self._leave()

    def drain(self) -> None:
        """Admit no more work; controls live on."""
        with self._changed:
            self._admits = False

    def close(self, seconds: float) -> bool:
        """Let nobody in any more and wait so long for those inside; False if some still are."""
        with self._changed:
            self._admits = self._obeys = False
            return self._changed.wait_for(lambda: self._inside == 0, seconds)

    def _enter(self, is_open: Callable[[], bool], closed: str) -> None:
        with self._changed:
            if not is_open():
                raise Unavailable(closed)
            self._inside += 1

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()
