"""Celery on Redis as it is: no step is durable. What our own broker costs without us.

Mode `chain`: a Turn is a chain of three tasks; two processes, late acknowledgement.
"""

from __future__ import annotations

import os
from typing import Any, Final

from celery import Celery, chain

from tests.benchmarks import effects
from tests.benchmarks.engine import Engine
from tests.benchmarks.loads import model_step, tool_step

_CONCURRENCY: Final = 2
_PATIENCE: Final = 100


def make(mode: str) -> Engine:
    """Give the engine."""
    return CeleryEngine("celery", mode)


class CeleryEngine(Engine):
    """A client that sends chains and waits for their results in Redis."""

    settle_seconds = 3.0

    def __init__(self, name: str, mode: str) -> None:
        """Describe the app; nothing connects yet."""
        super().__init__(name, mode)
        server = os.environ["BENCH_REDIS"]
        app: Any = Celery("bench", broker=f"{server}/1", backend=f"{server}/2")
        app.conf.update(
            task_acks_late=True,
            worker_prefetch_multiplier=4,
            task_reject_on_worker_lost=True,
            worker_hijack_root_logger=False,
            broker_connection_retry_on_startup=True,
            result_expires=600,
        )
        self._app = app
        bodies = (("model", _model), ("tool", _tool), ("signal", _signal), ("resume", _resume))
        self._tasks: dict[str, Any] = {name: app.task(name=name)(body) for name, body in bodies}

    def clean(self) -> None:
        """Empty the queue."""
        self._app.control.purge()

    def worker(self) -> None:
        """Serve it."""
        pool = ("-P", "prefork", "-c", str(_CONCURRENCY))
        self._app.worker_main(["worker", *pool, "-l", "ERROR", "--without-gossip"])

    def open(self) -> None:
        """Connect at the first task."""

    def submit(self, kind: str, key: str) -> Any:
        """Send a chain, or a single task."""
        if kind != "turn":
            return self._tasks[kind].delay(key)
        model, tool = self._tasks["model"], self._tasks["tool"]
        return chain(model.s(None, key), tool.s(key), model.s(key)).delay()

    def submit_many(self, kind: str, count: int) -> list[Any]:
        """Send from one thread: its results share a connection."""
        return [self.submit(kind, f"{kind}-{number}") for number in range(count)]

    def wait(self, handle: Any) -> None:
        """Get the result."""
        handle.get(timeout=_PATIENCE)

    def signal(self, handle: Any, key: str) -> None:
        """Send another task: there is nothing that waits."""
        del handle
        self.submit("resume", key)


def _model(_before: object, _key: str) -> dict[str, Any]:
    return model_step()


def _tool(_before: object, _key: str) -> dict[str, Any]:
    return tool_step()


def _signal(key: str) -> None:
    effects.note("waiting", key)


def _resume(key: str) -> None:
    effects.note("resumed", key)
