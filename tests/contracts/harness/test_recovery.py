"""Recovery: wherever the process dies, outcomes are replayed and tools run once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.status import CallState
from sessions_app.harnesses.scripted.model import Call, Reply
from tests.contracts.harness.bench import Bench, Killed
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.contracts.harness.provider import Provider

if TYPE_CHECKING:
    from sessions_app.harnesses.scripted.model import Transcript
    from tests.doubles.memory_backend import MemoryTurn

REPLIES = [
    Reply(
        "Let me see.",
        (
            Call("add", {"a": 2, "b": 3}),
            Call("generate_report", {"title": "Errors"}),
        ),
    ),
    Reply("", (Call("note", {"text": "five"}),)),
    Reply("All done."),
]


def _bench(kernel: Kernel) -> Bench:
    return Bench(kernel, Provider(REPLIES), results={"generate_report": {"pages": 3}})


DEATHS = [
    pytest.param(kernel, side, number, id=f"{kernel.id}-{side}-{number}")
    for kernel in KERNELS
    for side in ("before", "after")
    for number in range(kernel.commits)
]
"""Every place where a process can die around a commit."""


async def test_a_turn_costs_a_commit_for_each_step_and_result(kernel: Kernel) -> None:
    """Outcomes, local results, park, resumption, finish; pydantic-ai applies results apart."""
    run = _bench(kernel)

    turn = await run.complete()

    assert turn.result == {"parts": [{"type": "text", "text": "All done."}]}
    assert run.backend.commits == kernel.commits
    assert run.provider.requests == 3


@pytest.mark.parametrize(("dying", "side", "number"), DEATHS)
async def test_a_death_at_any_commit_changes_nothing_but_the_number_of_runs(
    dying: Kernel, side: str, number: int
) -> None:
    """Prompts, messages, results, usage and the answer equal those of a Turn without faults."""
    calm, run = _bench(dying), _bench(dying)
    run.fault = (side, number, Killed())

    expected = await calm.complete()
    turn = await run.complete()

    assert run.deaths == 1
    assert turn.result == expected.result
    assert _said(turn) == _said(expected)
    assert _usage(turn) == _usage(expected)
    assert _distinct(run.provider.prompts) == calm.provider.prompts
    assert set(run.states().values()) == {CallState.COMPLETED}
    assert all(call.applied for call in turn.calls.values())


@pytest.mark.parametrize(("dying", "side", "number"), DEATHS)
async def test_what_is_stored_is_never_done_again(dying: Kernel, side: str, number: int) -> None:
    """A death behind a commit repeats nothing; one before repeats what that commit would hold."""
    run = _bench(dying)
    run.fault = (side, number, Killed())

    await run.complete()

    repeated = run.provider.requests - 3 + run.tools.ran.total() - 2
    assert repeated == 0 if side == "after" else repeated <= 1


def _said(turn: MemoryTurn) -> list[tuple[int, object]]:
    return [(message.ordinal, message.parts) for message in turn.messages]


def _usage(turn: MemoryTurn) -> list[tuple[int | None, int | None]]:
    return [(call.input_tokens, call.output_tokens) for call in turn.model_calls]


def _distinct(prompts: list[Transcript]) -> list[Transcript]:
    return [prompt for place, prompt in enumerate(prompts) if prompt not in prompts[:place]]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_an_error_right_behind_an_outcome_does_not_lose_it(
    kernel: Kernel, number: int
) -> None:
    """The failed Run's outcome is stored with its failure; the next Run replays it (law 6)."""
    calm, run = _bench(kernel), _bench(kernel)
    run.trips = number

    expected = await calm.complete()
    turn = await run.complete()

    assert turn.failures == ["TIMEOUT"]
    assert turn.result == expected.result
    assert run.provider.prompts == calm.provider.prompts
    assert run.tools.ran == {"add": 1, "note": 1}
    assert _said(turn) == _said(expected)
    assert _usage(turn) == _usage(expected)


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_death_in_a_request_costs_that_request_only(kernel: Kernel, number: int) -> None:
    """One request more than outcomes; tools and answer are the same."""
    run = _bench(kernel)

    async def die_once(request: int) -> None:
        if request == number and not run.deaths:
            raise Killed

    run.provider.hook = die_once
    await run.complete()

    assert run.provider.requests == 4
    assert run.tools.ran == {"add": 1, "note": 1}
    assert run.turn.rounds == 3


async def test_a_tool_that_may_not_repeat_holds_the_turn_when_its_run_died(kernel: Kernel) -> None:
    """The start record stands, the outcome does not: UNKNOWN, and nothing more is done (law 7)."""
    run = Bench(kernel, Provider([Reply("", (Call("once"),)), Reply("done")]))
    run.fault = ("before", 1, Killed())
    run.backend.submit("go")

    await run.survive()
    await run.survive()

    assert run.states() == {"once": CallState.UNKNOWN}
    assert run.tools.ran == {"once": 1}
    assert run.provider.requests == 1
    assert run.turn.status == "WAITING"
