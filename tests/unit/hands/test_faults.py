"""Fault points and their plans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.fault_plan import FaultRaised, parse_plan
from hands_app.contract.faults import UndeclaredFaultPoint, declare, declared, faultpoint, plan

if TYPE_CHECKING:
    from pathlib import Path

POINT = "test.point.before_effect"
declare(POINT)

SCRIPT = f"""
from hands_app.contract.faults import declare, faultpoint
declare({POINT!r})
for _ in range(3):
    faultpoint({POINT!r})
print("alive")
"""


def run(faults: str) -> subprocess.CompletedProcess[str]:
    """Run a program that passes the point three times under a plan."""
    environment = {**os.environ, "DURABLE_FAULTS": faults}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_a_point_without_a_plan_does_nothing() -> None:
    """Real life has no plan."""
    faultpoint(POINT)

    assert POINT in declared()


def test_a_name_that_was_never_declared_is_an_error() -> None:
    """A typing error shows at once, in the code and in a plan."""
    with pytest.raises(UndeclaredFaultPoint):
        faultpoint("test.point.befor_effect")
    with pytest.raises(UndeclaredFaultPoint), plan({"test.point.nowhere": "raise"}):
        pass


def test_a_plan_acts_on_the_chosen_hit_and_ends_with_its_block() -> None:
    """`@2` means the second hit only; the rule counts all of them."""
    with plan({POINT: "raise:boom@2"}) as rules:
        faultpoint(POINT)
        with pytest.raises(FaultRaised, match="boom"):
            faultpoint(POINT)
        faultpoint(POINT)
    faultpoint(POINT)

    assert rules[POINT].hits == 3


def test_a_callable_is_an_action() -> None:
    """A test of one process may put its own code at a point."""
    met: list[str] = []

    with plan({POINT: met.append}):
        faultpoint(POINT)

    assert met == [POINT]


def test_hang_holds_the_caller_until_the_file_exists(tmp_path: Path) -> None:
    """An interleaving is held by a file, not by a delay."""
    gate, trace = tmp_path / "go", tmp_path / "trace"
    with plan({POINT: f"hang:{gate}"}):
        held = threading.Thread(target=faultpoint, args=(POINT,))
        held.start()
        assert held.is_alive()
        gate.touch()
        held.join(10)

    assert not held.is_alive()
    assert not trace.exists()


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("kill", -signal.SIGKILL),
        ("kill@3", -signal.SIGKILL),
        ("kill@4", 0),
        ("exit", 70),
        ("exit:3", 3),
        ("raise", 1),
    ],
)
def test_the_environment_plans_how_a_process_ends(action: str, code: int) -> None:
    """The same words work for processes that a test starts."""
    assert run(f"{POINT}={action}").returncode == code


def test_touch_kill_leaves_its_signal_first(tmp_path: Path) -> None:
    """A test waits for the line, then knows that the process is gone."""
    note = tmp_path / "note with space"

    ended = run(f"{POINT}=touch-kill:{note}@2")

    assert ended.returncode == -signal.SIGKILL
    assert note.read_text().split()[0] == POINT


def test_kill_once_spares_the_successor(tmp_path: Path) -> None:
    """The plan may stay in the environment of a process that is started again."""
    first, second = (run(f"{POINT}=kill-once:{tmp_path / 'ticket'}") for _ in range(2))

    assert (first.returncode, second.returncode) == (-signal.SIGKILL, 0)


def test_a_trace_notes_every_hit_with_its_process(tmp_path: Path) -> None:
    """Tests wait for lines of the trace."""
    trace = tmp_path / "trace"

    run(f'{{"trace": "{trace}", "points": {{"{POINT}": "touch:{tmp_path / "own"}@1"}}}}')

    assert [line.split()[0] for line in trace.read_text().splitlines()] == [POINT] * 3
    assert len((tmp_path / "own").read_text().splitlines()) == 1


@pytest.mark.parametrize("text", ["a.b=explode", "a.b=hang", "a.b", '{"points": {"a.b": "x"}}'])
def test_a_plan_that_means_nothing_is_refused(text: str) -> None:
    """A misspelt plan must not look like a passing test."""
    with pytest.raises(ValueError, match=r"a\.b|dictionary"):
        parse_plan(text)
