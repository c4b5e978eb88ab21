"""Procrastinate: a job queue in PostgreSQL with LISTEN and NOTIFY. It has no steps.

A Turn is a chain of three jobs, each of which defers the next with its reply, so that each is
durable. Mode `tuned`: 16 at once, polling every 50 ms (its default is 5 s).
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

import procrastinate
import psycopg

from tests.benchmarks import effects
from tests.benchmarks.engine import Engine
from tests.benchmarks.loads import model_step, tool_step
from tests.benchmarks.peers.databases import empty, is_there, make_database

_QUEUE: Final = "q"
_CONCURRENCY: Final = 16
_LOOK: Final = 0.002
_LOOK_MANY: Final = 0.02
_LEFT: Final = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


def make(mode: str) -> Engine:
    """Give the engine."""
    return ProcrastinateEngine("procrastinate", mode)


class ProcrastinateEngine(Engine):
    """A client that defers jobs and looks whether any is left."""

    def __init__(self, name: str, mode: str) -> None:
        """Connect nothing yet."""
        super().__init__(name, mode)
        self._url = make_database("bench_procrastinate")

    def setup(self) -> None:
        """Apply its schema, once."""
        if not is_there(self._url, "procrastinate_jobs"):
            with self._app().open() as app:
                app.schema_manager.apply_schema()

    def clean(self) -> None:
        """Forget finished jobs."""
        empty(self._url, "procrastinate_jobs")

    def worker(self) -> None:
        """Serve the queue."""
        asyncio.run(self._serve())

    def open(self) -> None:
        """Connect."""
        self._client = self._app()
        self._client.open()
        self._looks = psycopg.connect(self._url, autocommit=True)

    def submit(self, kind: str, key: str) -> int:
        """Defer the first job."""
        return int(self._client.configure_task(kind, queue=_QUEUE).defer(key=key))

    def wait(self, handle: int) -> None:
        """Look whether any job is left: the library waits for none."""
        del handle
        self._until_idle(_LOOK)

    def wait_all(self, handles: list[int]) -> None:
        """Do the same, less often."""
        del handles
        self._until_idle(_LOOK_MANY)

    def signal(self, handle: int, key: str) -> None:
        """Defer another job: there is nothing that waits."""
        del handle
        self.submit("resume", key)

    def _until_idle(self, pause: float) -> None:
        while self._looks.execute(_LEFT).fetchone() != (0,):
            time.sleep(pause)

    async def _serve(self) -> None:
        connector = procrastinate.PsycopgConnector(conninfo=self._url, min_size=4, max_size=20)
        app: Any = procrastinate.App(connector=connector)
        _register(app)
        async with app.open_async():
            await app.run_worker_async(
                queues=[_QUEUE],
                concurrency=_CONCURRENCY,
                install_signal_handlers=False,
                fetch_job_polling_interval=0.05,
            )

    def _app(self) -> Any:
        connector = procrastinate.SyncPsycopgConnector(conninfo=self._url, min_size=8, max_size=8)
        return procrastinate.App(connector=connector)


def _register(app: Any) -> None:
    async def turn(key: str) -> None:
        await second.defer_async(key=key, first=model_step())

    async def middle(key: str, first: dict[str, Any]) -> None:
        await third.defer_async(key=key, first=first, found=tool_step())

    async def last(**_given: Any) -> None:
        model_step()

    async def signal(key: str) -> None:
        effects.note("waiting", key)

    async def resume(key: str) -> None:
        effects.note("resumed", key)

    third = app.task(name="third", queue=_QUEUE)(last)
    second = app.task(name="second", queue=_QUEUE)(middle)
    for body in (turn, signal, resume):
        app.task(name=body.__name__, queue=_QUEUE)(body)
