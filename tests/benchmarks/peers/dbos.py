"""DBOS Transact: workflows as rows of PostgreSQL; a step is a row.

Modes: `tuned`, a queue polled every 10 ms and results every 5 ms (its defaults are 1 s);
`inprocess`, no queue: workflows start in the client's process.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import psycopg
from dbos import DBOS, DBOSClient

from tests.benchmarks import effects
from tests.benchmarks.engine import Engine
from tests.benchmarks.loads import STEPS, Stamps, model_step, tool_step
from tests.benchmarks.peers.databases import empty, make_database

_QUEUE: Final = "q"
_QUEUE_POLL: Final = 0.01
_RESULT_POLL: Final = 0.005
_LOOK_MANY: Final = 0.02
_LEFT: Final = "SELECT count(*) FROM dbos.workflow_status WHERE status IN ('PENDING', 'ENQUEUED')"

_model: Any = DBOS.step(name="model")(model_step)
_tool: Any = DBOS.step(name="tool")(tool_step)


def make(mode: str) -> Engine:
    """Give the engine."""
    return DbosEngine("dbos", mode)


def _turn(_key: str) -> str:
    _model(0)
    _tool()
    return str(_model(1)["role"])


def _long(key: str) -> None:
    stamps = Stamps(key)
    for number in range(STEPS):
        stamps.step()
        _model(number)
    stamps.done()


def _signal(key: str) -> None:
    effects.note("waiting", key)
    DBOS.recv("go", 60)
    effects.note("resumed", key)


_BODIES: Final = (("turn", _turn), ("long", _long), ("signal", _signal))
_WORKFLOWS: Final[dict[str, Any]] = {name: DBOS.workflow(name=name)(body) for name, body in _BODIES}


class DbosEngine(Engine):
    """A client that enqueues, or that runs workflows itself."""

    settle_seconds = 3.0

    def __init__(self, name: str, mode: str) -> None:
        """Launch nothing yet."""
        super().__init__(name, mode)
        self._url = make_database("bench_dbos")
        self._inside = mode == "inprocess"

    def setup(self) -> None:
        """Let it make its tables."""
        self._launch()
        DBOS.destroy()

    def clean(self) -> None:
        """Forget finished workflows."""
        empty(self._url, "dbos.workflow_status")

    def worker(self) -> None:
        """Serve the queue."""
        self._launch()
        threading.Event().wait()

    def start(self, workers: int) -> None:
        """Start workers, unless the client is one."""
        super().start(0 if self._inside else workers)

    def open(self) -> None:
        """Connect, or launch."""
        if self._inside:
            self._launch()
        else:
            self._client = DBOSClient(system_database_url=self._url, system_database_pool_size=10)

    def submit(self, kind: str, key: str) -> Any:
        """Enqueue or start."""
        if self._inside:
            return DBOS.start_workflow(_WORKFLOWS[kind], key)
        return self._client.enqueue({"queue_name": _QUEUE, "workflow_name": kind}, key)

    def submit_many(self, kind: str, count: int) -> list[Any]:
        """Start from one thread where the same process does the work."""
        if not self._inside:
            return super().submit_many(kind, count)
        return [self.submit(kind, f"{kind}-{number}") for number in range(count)]

    def wait(self, handle: Any) -> None:
        """Get the result."""
        if self._inside:
            handle.get_result()
        else:
            handle.get_result(polling_interval_sec=_RESULT_POLL)

    def wait_all(self, handles: list[Any]) -> None:
        """Look whether any workflow is left."""
        if self._inside:
            super().wait_all(handles)
            return
        with psycopg.connect(self._url, autocommit=True) as connection:
            while connection.execute(_LEFT).fetchone() != (0,):
                time.sleep(_LOOK_MANY)

    def signal(self, handle: Any, key: str) -> None:
        """Send the message."""
        del key
        self._client.send(handle.workflow_id, "go", "go")

    def _launch(self) -> None:
        DBOS(
            config={
                "name": "bench",
                "system_database_url": self._url,
                "log_level": "ERROR",
                "application_version": "v1",
                "executor_id": "local",
            }
        )
        DBOS.launch()
        if not self._inside:
            DBOS.register_queue(
                _QUEUE, polling_interval_sec=_QUEUE_POLL, on_conflict="always_update"
            )
