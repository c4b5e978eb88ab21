"""CPU time of everything that takes part: client, workers, PostgreSQL, Redis."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from tests.benchmarks.engine import Engine

SERVERS: Final = {
    "postgres": "BENCH_POSTGRES_PID",
    "redis": "BENCH_REDIS_PID",
    "restate": "BENCH_RESTATE_PID",
    "temporal": "BENCH_TEMPORAL_PID",
}
"""Environment variables that name the first process of each server that runs."""


def used(engine: Engine) -> dict[str, float]:
    """CPU seconds since each of them began."""
    found = {"client": time.process_time()}
    found["workers"] = sum(_tree(process.pid) for process in engine.processes)
    for name, variable in SERVERS.items():
        if pid := os.environ.get(variable):
            found[name] = _tree(int(pid))
    return found


def spent(before: dict[str, float], after: dict[str, float], turns: int) -> dict[str, float]:
    """Milliseconds per Turn, each for itself and together."""
    each = {name: (after[name] - before[name]) * 1000 / turns for name in before}
    return {"cpu ms/turn": sum(each.values()), **{f"cpu ms {k}": v for k, v in each.items()}}


def _tree(pid: int) -> float:
    """A process, its living descendants, and the dead ones that were waited for."""
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        return sum(_own(process) for process in (root, *root.children(recursive=True)))
    return 0.0


def _own(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0
