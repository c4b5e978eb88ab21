"""Absurd: SQL functions in PostgreSQL and a worker that polls them. A step is a checkpoint row.

Modes: `tuned`, its own worker with 16 at once on one connection, polling every 10 ms; `loops`,
8 workers with a connection each in threads of one process, which is faster in throughput;
`lease1`, as `tuned` with the shortest lease that it allows instead of 120 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
from absurd_sdk import Absurd

from tests.benchmarks import effects
from tests.benchmarks.engine import Engine
from tests.benchmarks.loads import SLOW_STEPS, STEPS, Stamps, model_step, slow_step, tool_step
from tests.benchmarks.peers.databases import is_there, make_database

_QUEUE: Final = "q"
_POLL: Final = 0.01
_CLAIM_SECONDS: Final = {"lease1": 1}
_CLAIM_DEFAULT: Final = 120
_LOOPS: Final = 8
_LOOK: Final = 0.002
_LOOK_MANY: Final = 0.02
_LEFT: Final = "SELECT count(*) FROM absurd.t_q WHERE state NOT IN ('completed', 'failed')"


def make(mode: str) -> Engine:
    """Give the engine."""
    return AbsurdEngine("absurd", mode)


class AbsurdEngine(Engine):
    """A client that spawns tasks and looks for their results."""

    def __init__(self, name: str, mode: str) -> None:
        """Connect nothing yet."""
        super().__init__(name, mode)
        self._url = make_database("bench_absurd")
        self._local = threading.local()

    def setup(self) -> None:
        """Apply its schema with its own tool."""
        if not is_there(self._url, "absurd.get_schema_version"):
            absurdctl = str(Path(sys.executable).with_name("absurdctl"))
            subprocess.run((absurdctl, "init", "-d", self._url), check=True)
        self.clean()

    def clean(self) -> None:
        """Make the queue anew."""
        app = Absurd(self._url, queue_name=_QUEUE)
        with suppress(psycopg.Error):
            app.drop_queue(_QUEUE)
        app.create_queue(_QUEUE)

    def worker(self) -> None:
        """Poll for tasks."""
        self._claim = _CLAIM_SECONDS.get(self.mode, _CLAIM_DEFAULT)
        if self.mode != "loops":
            _app(self._url).start_worker(
                concurrency=16, poll_interval=_POLL, claim_timeout=self._claim
            )
            return
        for number in range(_LOOPS):
            threading.Thread(target=self._loop, args=(number,)).start()

    def open(self) -> None:
        """Connect for looking."""
        self._looks = psycopg.connect(self._url, autocommit=True)

    def submit(self, kind: str, key: str) -> str:
        """Spawn a task, each submitting thread on its own connection."""
        return str(self._mine().spawn(kind, {"k": key})["task_id"])

    def wait(self, handle: str) -> None:
        """Look for its result."""
        while self._mine().fetch_task_result(handle).state not in {"completed", "failed"}:
            time.sleep(_LOOK)  # its client offers no signal, only a look

    def wait_all(self, handles: list[str]) -> None:
        """Look whether any task is left."""
        del handles
        while self._looks.execute(_LEFT).fetchone() != (0,):
            time.sleep(_LOOK_MANY)  # as above

    def signal(self, handle: str, key: str) -> None:
        """Emit the event."""
        del handle
        self._mine().emit_event(f"go-{key}", {"go": 1})

    def _loop(self, number: int) -> None:
        _app(self._url).start_worker(
            concurrency=1,
            batch_size=4,
            poll_interval=_POLL,
            claim_timeout=self._claim,
            worker_id=f"{os.getpid()}-{number}",
        )

    def _mine(self) -> Any:
        if not hasattr(self._local, "app"):
            self._local.app = _app(self._url)
        return self._local.app


def _app(url: str) -> Any:
    app = Absurd(url, queue_name=_QUEUE)
    for name, body in (("turn", _turn), ("long", _long), ("slow", _slow), ("signal", _signal)):
        app.register_task(name)(body)
    return app


def _turn(_params: dict[str, str], ctx: Any) -> str:
    ctx.step("m0", model_step)
    ctx.step("t", tool_step)
    return str(ctx.step("m1", model_step)["role"])


def _long(params: dict[str, str], ctx: Any) -> None:
    stamps = Stamps(params["k"])
    for number in range(STEPS):
        stamps.step()
        ctx.step(f"s{number}", model_step)
    stamps.done()


def _slow(params: dict[str, str], ctx: Any) -> None:
    for number in range(SLOW_STEPS):
        ctx.step(f"s{number}", partial(slow_step, params["k"], number))


def _signal(params: dict[str, str], ctx: Any) -> None:
    key = params["k"]
    if not ctx._task.get("wake_event"):
        effects.note("waiting", key)
    ctx.await_event(f"go-{key}")
    effects.note("resumed", key)
