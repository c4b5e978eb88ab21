"""The table shows what the rounds showed, and hides nothing."""

from __future__ import annotations

import pytest

from tests.benchmarks import table
from tests.benchmarks.entrants import WORKLOADS
from tests.benchmarks.run import chosen
from tests.benchmarks.table import Series
from tests.benchmarks.workloads import percentiles

OURS = Series("w1", "durable", [{"turns/s": 10.0}, {"turns/s": 30.0}, {"turns/s": 20.0}])
THEIRS = Series("w1", "peer", [{"turns/s": 5.0}, {"turns/s": 10.0}], ["it fell over"])


def test_a_figure_stands_with_its_spread() -> None:
    """Median, least, greatest and the number of rounds; a round without figures says why."""
    _, ours, theirs, failed = table.lines([OURS, THEIRS])

    assert ours.split() == ["w1", "durable", "turns/s", "20", "10", "30", "3"]
    assert theirs.split() == ["w1", "peer", "turns/s", "7.500", "5", "10", "2"]
    assert failed.split() == ["w1", "peer", "no", "figures:", "it", "fell", "over"]


def test_peers_are_compared_round_by_round() -> None:
    """A ratio belongs to two rounds that ran one after the other."""
    (line,) = table.ratios([OURS, THEIRS], "durable")

    assert line.split() == ["w1", "ours", "/", "peer", "turns/s", "2.500", "2", "3", "2"]


def test_all_figures_are_kept_for_programs() -> None:
    """JSON has every round, beside the medians."""
    kept = THEIRS.to_json()

    assert kept["median"] == {"turns/s": 7.5}
    assert kept["rounds"] == THEIRS.rounds
    assert kept["failures"] == ["it fell over"]


def test_percentiles_are_values_that_were_measured() -> None:
    """Of a hundred, the 50th, 95th and 99th, in milliseconds."""
    found = percentiles([number / 1000 for number in range(100)])

    assert found == pytest.approx({"p50 ms": 50, "p95 ms": 95, "p99 ms": 99, "p99/p50": 1.98})


def test_workloads_are_chosen_by_name() -> None:
    """In their own order, all without a choice; a name that is none is refused."""
    assert chosen("W3, w1") == ["w1", "w3"]
    assert chosen("") == list(WORKLOADS)
    with pytest.raises(SystemExit, match="no workload w99"):
        chosen("w99")
