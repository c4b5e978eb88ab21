"""What every wiring between a Brain and Hands keeps to, whatever carries the envelopes (R174)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionState, UpdateKind
from tests.covers import covers, poses
from tests.integration.hands.examples import cancel, execute, query, until
from tests.integration.hands.reading import question

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.messages import Execute
    from tests.contracts.executor.lines import Bench

HELLO = {"text": "hello"}


def _once(bench: Bench) -> Execute:
    return execute(bench.tools.once.binding, dict(HELLO))


@covers("R174")
def test_a_command_comes_back_as_a_result(bench: Bench) -> None:
    """Admitted, started, ended: a contiguous prefix, one effect under the execution's own key."""
    command = _once(bench)

    bench.send(command)
    result = bench.result(command)

    assert (result.state, result.content) == (ExecutionState.COMPLETED, "sent hello")
    assert bench.kinds(command) == ["admitted", "started", "result"]
    assert bench.tools.ran == [command.execution_id]


@covers("R185")
def test_a_cancel_that_comes_first_leaves_nothing_to_start(bench: Bench) -> None:
    """The command finds a tombstone; what comes after it runs."""
    command = _once(bench)

    bench.send(cancel(command))
    assert bench.result(command).state is ExecutionState.CANCELLED
    bench.send(command)

    assert bench.ran_besides(command) == []
    assert bench.result(command).state is ExecutionState.CANCELLED


def test_a_cancel_reaches_a_tool_that_runs(bench: Bench) -> None:
    """The tool itself confirms that it stopped."""
    bench.tools.go.clear()
    command = _once(bench)

    bench.send(command)
    until(lambda: bench.tools.ran, "the start")
    bench.send(cancel(command))

    assert bench.result(command).state is ExecutionState.CANCELLED


@covers("R186")
def test_a_query_tells_again_and_does_nothing(bench: Bench) -> None:
    """What was lost on the way is asked for, by the prefix that is there."""
    command = _once(bench)
    bench.send(command)
    bench.result(command)
    bench.told.clear()

    until(lambda: bench.asked_again(command, "result"), "the answer")

    assert "started" in bench.kinds(command)
    assert bench.tools.ran == [command.execution_id]


@covers("R186")
def test_a_query_for_what_nobody_knows_says_so(bench: Bench) -> None:
    """It is no execution, and none comes of it."""
    command = _once(bench)

    bench.send(query(command))
    until(lambda: bench.of(command), "the answer")

    assert bench.kinds(command) == ["unknown-execution"]
    assert bench.tools.ran == []


@poses("T21")
def test_a_duplicate_starts_nothing(bench: Bench) -> None:
    """The same command again and again, before, during and after its run."""
    bench.tools.go.clear()
    command = _once(bench)

    bench.send(command)
    bench.send(command)
    until(lambda: bench.tools.ran, "the start")
    bench.send(command)
    bench.tools.go.set()
    bench.result(command)
    bench.send(command)

    assert bench.ran_besides(command) == [command.execution_id]
    assert bench.result(command).state is ExecutionState.COMPLETED


@covers("R191")
def test_output_of_an_execution_that_nobody_knows_is_a_page_without_any(bench: Bench) -> None:
    """The question gets its answer by the same way, and starts nothing."""
    command = _once(bench)
    asked = question(command)

    bench.send(asked)
    until(lambda: bench.of(command), "the answer")

    (answer,) = bench.of(command)
    assert answer.kind is UpdateKind.PAGE
    assert answer.page().command_id == asked.command_id
    assert answer.page().bytes == b""


@pytest.mark.parametrize(
    ("effect", "state", "runs"),
    [("once", ExecutionState.UNKNOWN, 1), ("idempotent", ExecutionState.COMPLETED, 2)],
)
@covers("R174")
@poses("C48")
def test_after_a_crash_the_ledger_decides(
    bench: Bench, effect: str, state: ExecutionState, runs: int
) -> None:
    """The effect happened and its record did not: UNKNOWN, or again under the same key."""
    chosen = bench.tools.once if effect == "once" else bench.tools.idempotent
    command = execute(chosen.binding, dict(HELLO))
    broke = threading.Event()
    with plan({"hands.effect.after_done": _die_once(broke)}):
        bench.send(command)
        assert broke.wait(30)
        bench.close()

    bench.open()

    assert bench.result(command).state is state
    assert bench.tools.ran == [command.execution_id] * runs


def _die_once(broke: threading.Event) -> Callable[[str], None]:
    def die(_point: str) -> None:
        if not broke.is_set():
            broke.set()
            raise RuntimeError

    return die
