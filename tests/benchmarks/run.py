"""A run: every engine's round of a workload in a process of its own, the engines in turn."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.benchmarks.engine import CHECKOUT
from tests.benchmarks.entrants import ONCE, OURS, WORKLOADS
from tests.benchmarks.table import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.benchmarks.entrants import Entrant
    from tests.benchmarks.ground import Ground
    from tests.benchmarks.workloads import Figures

_SECONDS: Final = 900.0


@dataclass
class Run:
    """What is measured, and what came out."""

    ground: Ground
    rounds: int
    quick: bool = False
    entrants: list[Entrant] = field(default_factory=list)
    series: dict[tuple[str, str], Series] = field(default_factory=dict)
    probes: list[Figures] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """Peers that could not be set up, each with the reason."""

    def __post_init__(self) -> None:
        """Make a migrated site for ours, and one that W9 may fill."""
        self._sites = {
            "": self.ground.environment,
            OURS: self.ground.site("durable"),
            "w9": self.ground.site("durable_scan"),
        }

    def enter(self, entrants: Iterable[Entrant]) -> None:
        """Set engines up; a peer that cannot be is named and left out."""
        for entrant in entrants:
            done = self._driver(entrant, "setup")
            if done.returncode:
                self.absent.append(f"{entrant.name}: {_last_line(done)}")
            else:
                self.entrants.append(entrant)

    def measure(self, workloads: Iterable[str]) -> None:
        """Run the workloads, each in rounds; `series` has what they showed."""
        for workload in workloads:
            for _ in range(1 if workload in ONCE else self.rounds):
                self.probes.append(self.ground.probe())
                for entrant in self.entrants:
                    if workload in entrant.workloads:
                        self._round(entrant, workload)

    def _round(self, entrant: Entrant, workload: str) -> None:
        key = (workload, entrant.name)
        series = self.series.setdefault(key, Series(workload, entrant.name))
        _say(f"{workload} {entrant.name} ...")
        if entrant.engine != OURS:
            self._driver(entrant, "clean")
        done = self._driver(entrant, workload)
        if done.returncode == 0:
            series.rounds.append(json.loads(done.stdout.splitlines()[-1]))
        else:
            series.failures.append(_last_line(done))
            _say(done.stderr[-3000:])

    def _driver(self, entrant: Entrant, what: str) -> subprocess.CompletedProcess[str]:
        quick = ("--quick",) if self.quick else ()
        site = what if what in self._sites else OURS if entrant.engine == OURS else ""
        driver = ("-m", "tests.benchmarks.driver", entrant.engine, what, "--mode", entrant.mode)
        command = (entrant.python, *driver, *quick)
        try:
            return subprocess.run(
                command,
                cwd=CHECKOUT,
                env=self._sites[site],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 1, "", f"not done in {_SECONDS:.0f} s")


def profile(ground: Ground) -> int:
    """Print where a Turn's cost goes, on a site of its own."""
    command = (sys.executable, "-m", "tests.benchmarks.profiling")
    return subprocess.run(
        command, cwd=CHECKOUT, env=ground.site("durable_profile"), check=False
    ).returncode


def chosen(only: str) -> Sequence[str]:
    """The workloads that are asked for, in their order; what every run ends with is the record."""
    asked = {name for name in only.lower().replace(" ", "").split(",") if name}
    unknown = asked - set(WORKLOADS)
    if unknown:
        msg = f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}"
        raise SystemExit(msg)
    return [name for name in WORKLOADS if not asked or name in asked]


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines() or ["it said nothing"]
    return lines[-1][:200]


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
