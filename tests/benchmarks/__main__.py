"""Runs the benchmarks: `python -m tests.benchmarks [--only w1,w3] [--rounds 5] [--quick]`.

One table with the median, the least and the greatest of the rounds; all figures as JSON beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks import entrants, table
from tests.benchmarks.engine import CHECKOUT
from tests.benchmarks.entrants import MISSING, OURS, US
from tests.benchmarks.ground import ground
from tests.benchmarks.run import Run, chosen, profile
from tests.benchmarks.table import Series

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESULTS: Final = CHECKOUT / "var" / "benchmarks"


def main(arguments: list[str]) -> int:
    """Run what is asked for; 1 when one of ours gave no figures."""
    asked = _arguments(arguments)
    workloads = chosen(asked.only)
    with tempfile.TemporaryDirectory(prefix="durable-bench-") as folder, ground(Path(folder)) as on:
        if asked.profile:
            return profile(on)
        run = Run(on, asked.rounds, quick=asked.quick)
        run.enter([US, *(entrants.peers(asked.peers) if asked.peers else [])])
        try:
            run.measure(workloads)
        finally:  # also of a run that was broken off
            found = list(run.series.values())
            probe = Series("probe", "PostgreSQL", run.probes)
            _print([probe, *found], on.settings(), run.absent, workloads)
            _write(found, probe, on.settings())
    return 1 if any(series.failures for series in found if series.engine == OURS) else 0


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", default="", help="workloads, comma separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small, to see whether all runs")
    parser.add_argument("--peers", default="", help="the Python that has the peers' packages")
    parser.add_argument("--profile", action="store_true", help="say where a Turn's cost goes")
    return parser.parse_args(arguments)


def _print(
    found: list[Series], settings: dict[str, str], absent: list[str], workloads: Sequence[str]
) -> None:
    print("PostgreSQL", ", ".join(f"{name}={value}" for name, value in settings.items()))
    print(*table.lines(found), sep="\n")
    print(*table.ratios(found, OURS), sep="\n")
    for line in absent:
        print("not measured:", line)
    for name in [each for each in MISSING if each in workloads]:
        print(f"left out: {name}: {MISSING[name]}")


def _write(found: list[Series], probe: Series, settings: dict[str, str]) -> None:
    _RESULTS.mkdir(parents=True, exist_ok=True)
    path = _RESULTS / f"{time.strftime('%Y-%m-%dT%H-%M-%S', time.gmtime())}.json"
    report: dict[str, Any] = {
        "settings": settings,
        "probe": probe.to_json(),
        "series": [series.to_json() for series in found],
    }
    path.write_text(json.dumps(report, indent=1) + "\n")
    print("all figures:", path.relative_to(CHECKOUT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
