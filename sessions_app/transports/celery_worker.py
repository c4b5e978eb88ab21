"""Ties a Brain process to the life of a Celery worker, whatever its pool.

Threads and solo run the Brain in the worker's own process, from before it connects to its broker;
prefork runs one in each child and nothing in the parent (S22). What ends a worker drains it first.
"""

from __future__ import annotations

import logging
import mmap
import os
import threading
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from celery import signals
from django.core.exceptions import ImproperlyConfigured

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery.app.utils import Settings
    from celery.worker import WorkController

log = logging.getLogger(__name__)

_POOLS: Final = ("threads", "solo", "prefork")
_LOOK_SECONDS: Final = 0.25


class Drainable(Protocol):
    """What the worker's life does to a Brain process."""

    pid: int

    def drain(self, seconds: float | None = None) -> bool:
        """Hand everything over."""

    def close(self) -> None:
        """End."""


P = TypeVar("P", bound=Drainable)


class CeleryRole(Generic[P]):
    """Makes the Brain of a worker that consumes `queue`, and ends it with the worker."""

    def __init__(self, make: Callable[[], P], queue: str, slots: int) -> None:
        """`make` is called after any fork; `slots` sizes a threads pool whose size nobody gave."""
        self._make = make
        self._queue = queue
        self._slots = slots
        self._own: P | None = None
        self._told: mmap.mmap | None = None
        self._parent = 0

    def connect(self) -> None:
        """Follow Celery's signals."""
        for signal, receiver in (
            (signals.celeryd_init, self._size_pool),
            (signals.worker_init, self._worker_begins),
            (signals.worker_process_init, self._child_begins),
            (signals.worker_shutting_down, self._worker_is_told),
            (signals.worker_process_shutdown, self._end),
            (signals.worker_shutdown, self._end),
        ):
            signal.connect(receiver, weak=False)

    def current(self) -> P | None:
        """This process's Brain; None in a parent of children and in workers of other queues."""
        own = self._own
        return own if own is not None and own.pid == os.getpid() else None

    def _size_pool(self, conf: Settings, options: dict[str, Any], **_: object) -> None:
        """One thread a slot, so that no hint waits behind a Turn while a slot is free."""
        queues = options.get("queues") or conf.task_default_queue
        here = self._queue in (queues.split(",") if isinstance(queues, str) else queues)
        if here and _pool(options.get("pool_cls")) == "threads" and not options.get("concurrency"):
            conf.worker_concurrency = conf.worker_concurrency or self._slots

    def _worker_begins(self, sender: WorkController, **_: object) -> None:
        """Sent before the worker forks, and before it connects to its broker."""
        if self._queue not in sender.app.amqp.queues.consume_from:
            return
        pool_cls: object = sender.pool_cls  # type: ignore[attr-defined]  # the stubs lack it
        if _pool(pool_cls) == "prefork":
            self._parent = os.getpid()
            self._told = mmap.mmap(-1, 1)  # shared with every child, whenever it is forked
        else:
            self._own = self._make()

    def _child_begins(self, **_: object) -> None:
        if self._told is None or os.getpid() == self._parent:
            return
        self._own = self._make()
        threading.Thread(target=self._listen, name="brain-drain", daemon=True).start()

    def _listen(self) -> None:
        """The parent hears of the shutdown, its children do not: they look at the shared byte."""
        assert self._told is not None  # noqa: S101 - `_child_begins` looked
        never = threading.Event()
        while not self._told[0]:
            never.wait(_LOOK_SECONDS)
        self._drain()

    def _worker_is_told(self, **_: object) -> None:
        """Runs inside a signal handler, so it only leaves word or starts a thread."""
        if self._told is not None:
            self._told[0] = 1
        elif self._own is not None:
            threading.Thread(target=self._drain, name="brain-drain", daemon=True).start()

    def _drain(self) -> None:
        own = self.current()
        if own is not None:
            own.drain()

    def _end(self, **_: object) -> None:
        """The process is about to end: what still runs gets its time to be handed over."""
        own = self.current()
        if own is not None:
            own.drain()
            own.close()
            self._own = None


def _pool(pool_cls: object) -> str:
    """Name of the pool; raises ImproperlyConfigured for one that the Brain does not know."""
    where = pool_cls if isinstance(pool_cls, str) else getattr(pool_cls, "__module__", "prefork")
    for name, mark in (("threads", "thread"), ("solo", "solo"), ("prefork", "prefork")):
        if mark in where:
            return name
    msg = f"the Brain runs under --pool {', '.join(_POOLS)}, not {where}"
    raise ImproperlyConfigured(msg)
