"""`make sim SEEDS=n`: plays seeds on two processes and says how often each rule and answer came.

    make sim SEEDS=2000
    make sim SEEDS=300 ARGS=--postgres
    make sim ARGS="--seed 17"            # one seed, cut down to the rules that it fails by
    make sim ARGS=--sabotage             # break the product in many ways; each has to be noticed

A failing seed is printed with its steps and with the one command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

from durable_site.embedded.servers import start_postgres
from tests.simulation import report, workers

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK: Final = 10
PROCESSES: Final = 2
ENOUGH: Final = 100
"""Seeds from which on every rule and every answer has to occur."""


def main(arguments: list[str]) -> int:
    """Play the seeds and print what came of them; 0 when all held and nothing was left out."""
    parser = argparse.ArgumentParser(prog="make sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to play")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--seed", type=int, help="play this one and cut it down if it fails")
    parser.add_argument("--postgres", action="store_true", help="on a private PostgreSQL")
    parser.add_argument("--sabotage", action="store_true", help="break the product and be caught")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    asked = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="durable-sim-"))
        os.environ["DURABLE_STATE_DIR"] = str(Path(folder) / "state")
        os.environ.pop("DATABASE_URL", None)
        if asked.postgres:
            server = stack.enter_context(start_postgres(durable=False))
            os.environ["DATABASE_URL"] = server.url
        if asked.seed is not None:
            return _one(asked)
        return _sabotages(asked) if asked.sabotage else _many(asked)


def _one(asked: argparse.Namespace) -> int:
    workers.prepare()
    failed = workers.cut_down(asked.seed)
    print(failed or f"seed {asked.seed} holds", flush=True)
    return 1 if failed else 0


def _many(asked: argparse.Namespace) -> int:
    began = time.monotonic()
    tally, failures = report.Totals(), []
    with _pool(asked) as pool:
        for chunk in pool.map(workers.play_chunk, _chunks(asked.first, asked.seeds)):
            tally.add(chunk)
            for failed in chunk.failures:
                failures.append(failed)
                print(
                    failed,
                    f"repeat with: make sim {_arguments(asked, failed)}",
                    sep="\n",
                    flush=True,
                )
            if sys.stderr.isatty():
                print(f"\r{tally.seeds} seeds, {len(failures)} failed", end="", file=sys.stderr)
    print(tally.table())
    missing = tally.missing() if asked.seeds >= ENOUGH else []
    print(f"{tally.seeds} seeds, {len(failures)} failed, {time.monotonic() - began:.0f} s")
    if missing:
        print("never happened:", ", ".join(missing))
    return 1 if failures or missing else 0


def _sabotages(asked: argparse.Namespace) -> int:
    """Break the product in each way; 0 when every sabotage was noticed."""
    missed = 0
    with _pool(asked) as pool:
        names = pool.submit(workers.sabotages).result()
        for name, caught in pool.map(partial(workers.try_sabotage, seeds=asked.seeds), names):
            missed += caught is None
            said = f"seed {caught[0]}: {caught[1][:120]}" if caught else "NOT NOTICED"
            print(f"{name:<46} {said}", flush=True)
    print(f"{len(names)} sabotages, {missed} not noticed within {asked.seeds} seeds")
    return 1 if missed else 0


def _pool(asked: argparse.Namespace) -> ProcessPoolExecutor:
    context = get_context("spawn")
    return ProcessPoolExecutor(asked.processes, context, initializer=workers.prepare)


def _arguments(asked: argparse.Namespace, failed: report.Failed) -> str:
    postgres = " --postgres" if asked.postgres else ""
    return f'ARGS="--seed {failed.seed}{postgres}"'


def _chunks(first: int, seeds: int) -> Iterator[range]:
    for begin in range(first, first + seeds, CHUNK):
        yield range(begin, min(begin + CHUNK, first + seeds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
