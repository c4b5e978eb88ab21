"""One engine and one workload, once: `python -m tests.benchmarks.driver <engine> <what>`.

The figures are one line of JSON on standard output. A driver runs in the environment that has the
engine's packages, and knows nothing of the other engines.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from tests.benchmarks.workloads import QUICK, SHARED, Sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.engine import Engine
    from tests.benchmarks.workloads import Figures

OURS: Final = "durable"


def main(arguments: list[str]) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="driver", description=__doc__)
    parser.add_argument("engine")
    parser.add_argument("what", help="setup, clean, worker, or a workload")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(arguments)
    engine = _engine(asked.engine, asked.mode)
    chores = {"setup": engine.setup, "clean": engine.clean, "worker": engine.worker}
    if asked.what in chores:
        chores[asked.what]()
        return 0
    try:
        figures = _workload(engine, asked.what)(engine, QUICK if asked.quick else Sizes())
    finally:
        engine.stop()
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()
    os._exit(0)  # an engine's threads do not end by themselves


def _engine(name: str, mode: str) -> Engine:
    room = "tests.benchmarks.ours" if name == OURS else f"tests.benchmarks.peers.{name}"
    return cast("Engine", import_module(room).make(mode))


def _workload(engine: Engine, name: str) -> Callable[[Engine, Sizes], Figures]:
    if name in SHARED:
        return SHARED[name]
    own: dict[str, Callable[[Engine, Sizes], Figures]] = getattr(engine, "own_workloads", {})
    return own[name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
