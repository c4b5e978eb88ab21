"""What the demo calls proven, and what it must not."""

from dataclasses import replace
from typing import Any

import pytest

from durable_site.demo.journal import End, Record
from durable_site.demo.proof import Facts, checks

GOOD = Facts(
    status="COMPLETED",
    takeovers=1,
    requests=[
        Record(1, {"m": 1}, End.ANSWERED),
        Record(2, {"m": 2}, End.LOST),
        Record(3, {"m": 2}, End.ANSWERED),
    ],
    model_calls=["COMPLETED", "LOST", "COMPLETED"],
    executions=["exe_a", "exe_b"],
    effects=[("count_errors", "exe_a"), ("write_report", "exe_b")],
)


def test_a_good_run_proves_everything() -> None:
    """Every statement holds for the run that the demo wants to show."""
    assert all(check.holds for check in checks(GOOD))


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        pytest.param({"status": "FAILED"}, "the Turn is FAILED", id="failed"),
        pytest.param({"takeovers": 2}, "takeovers: 2", id="takeovers"),
        pytest.param({"model_calls": ["COMPLETED"] * 3}, "LOST", id="no lost call"),
        pytest.param(
            {"requests": [*GOOD.requests, Record(4, {"m": 1}, End.ANSWERED)]},
            "no stored outcome was asked for again",
            id="asked again",
        ),
        pytest.param(
            {"requests": [*GOOD.requests, Record(4, {"m": 4}, End.ANSWERED)]},
            "asked 4 times for 2 stored outcomes",
            id="one request too many",
        ),
        pytest.param(
            {"effects": [*GOOD.effects, GOOD.effects[0]]}, "count_errors x 2", id="tool ran twice"
        ),
        pytest.param({"effects": GOOD.effects[:1]}, "each of 2 tool calls", id="tool never ran"),
        pytest.param(
            {"effects": [GOOD.effects[0], ("write_report", "exe_c")]},
            "each of 2 tool calls",
            id="effect of no call",
        ),
    ],
)
def test_a_broken_run_is_not_proven(change: dict[str, Any], broken: str) -> None:
    """Each thing that may go wrong is named by a check that fails."""
    failed = [check.words for check in checks(replace(GOOD, **change)) if not check.holds]

    assert any(broken in words for words in failed)
