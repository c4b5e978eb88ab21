"""Tells code of others that a host calls, tools above all, from code that calls the host (R261)."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_calling: ContextVar[tuple[Callbacks, ...]] = ContextVar("hands_callbacks", default=())


class Callbacks:
    """One host's calls of foreign code; follows them into the threads and tasks made for them."""

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Mark what runs in the block as called by the host."""
        before = _calling.set((*_calling.get(), self))
        try:
            yield
        finally:
            _calling.reset(before)

    def are_calling(self) -> bool:
        """Whether the host waits for the code that asks, which therefore must not wait for it."""
        return self in _calling.get()
