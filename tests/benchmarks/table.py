"""Rounds of figures as one table for people and one JSON for programs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.benchmarks.workloads import Figures


@dataclass(slots=True)
class Series:
    """One engine's rounds of one workload, the first round first."""

    workload: str
    engine: str
    rounds: list[Figures] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """One line for each round that gave no figures."""

    def values(self, name: str) -> list[float]:
        """One figure, round by round."""
        return [figures[name] for figures in self.rounds if name in figures]

    @property
    def names(self) -> list[str]:
        """All figures, the one to compare by first."""
        return list(dict.fromkeys(name for figures in self.rounds for name in figures))

    def to_json(self) -> dict[str, Any]:
        """Everything, and the medians."""
        medians = {name: statistics.median(self.values(name)) for name in self.names}
        return {
            "workload": self.workload,
            "engine": self.engine,
            "median": medians,
            "rounds": self.rounds,
            "failures": self.failures,
        }


def lines(found: Iterable[Series]) -> Iterator[str]:
    """Give the table: a line for each figure, with its spread over the rounds."""
    yield f"{'workload':<9}{'engine':<30}{'figure':<34}{'median':>11}{'min':>11}{'max':>11}{'n':>4}"
    for series in found:
        for name in series.names:
            values = series.values(name)
            spread = (statistics.median(values), min(values), max(values))
            cells = "".join(f"{shown(value):>11}" for value in spread)
            yield f"{series.workload:<9}{series.engine:<30}{name:<34}{cells}{len(values):>4}"
        for failure in series.failures:
            yield f"{series.workload:<9}{series.engine:<30}no figures: {failure}"


def ratios(found: Iterable[Series], ours: str) -> Iterator[str]:
    """Compare us with each peer by the first figure of each workload, round by round."""
    series = list(found)
    mine = {each.workload: each for each in series if each.engine == ours}
    for peer in series:
        own = mine.get(peer.workload)
        if own is None or peer is own or not own.rounds or not peer.rounds:
            continue
        name = own.names[0]
        pairs = zip(own.values(name), peer.values(name), strict=False)
        each = [mine / theirs for mine, theirs in pairs if theirs]
        if each:
            spread = (statistics.median(each), min(each), max(each))
            cells = "".join(f"{shown(value):>11}" for value in spread)
            yield f"{peer.workload:<9}{'ours / ' + peer.engine:<30}{name:<34}{cells}{len(each):>4}"


def shown(value: float) -> str:
    """Three digits that matter, and no exponents."""
    if value == int(value) and abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
