"""Steers and injects: taken in once, before the request that contains them, never in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import text_part
from sessions_app.contract.status import SignalKind
from sessions_app.harnesses.scripted.model import Call, Reply
from tests.contracts.harness.bench import Bench, Killed
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.contracts.harness.provider import Provider
from tests.covers import poses

if TYPE_CHECKING:
    from sessions_app.harnesses.scripted.model import Transcript

REPLIES = [
    Reply("", (Call("add", {"a": 2, "b": 3}),)),
    Reply("", (Call("note", {"text": "five"}),)),
    Reply("five"),
    Reply("in French: cinq"),
]


def _steered(kernel: Kernel, request: int, kind: SignalKind = SignalKind.STEER) -> Bench:
    """A Turn to which an input is sent while the model answers this request."""
    run = Bench(kernel, Provider(REPLIES))

    async def steer(number: int) -> None:
        if number == request and not run.turn.inputs and not run.turn.applied_inputs:
            run.backend.steer("in French", kind)

    run.provider.hook = steer
    return run


def _count(prompt: Transcript) -> int:
    return [message.get("text") for message in prompt].count("in French")


@pytest.mark.parametrize("kind", [SignalKind.STEER, SignalKind.INJECT])
async def test_an_input_is_in_every_prompt_from_the_next_on(
    kernel: Kernel, kind: SignalKind
) -> None:
    """It stands behind the results of the round in which it came, once."""
    run = _steered(kernel, 1, kind)

    await run.complete()

    assert [_count(prompt) for prompt in run.provider.prompts] == [0, 1, 1]
    assert run.provider.prompts[1][-1]["text"] == "in French"
    assert len(run.turn.applied_inputs) == 1


@poses("S12")
async def test_an_input_is_applied_before_the_request_that_contains_it(kernel: Kernel) -> None:
    """While the model reads it, it can no longer be withdrawn (S12)."""
    run = _steered(kernel, 1)
    steer = run.provider.hook
    applied: list[int] = []

    async def look(number: int) -> None:
        applied.append(len(run.turn.applied_inputs))
        if steer is not None:
            await steer(number)

    run.provider.hook = look
    await run.complete()

    assert applied == [0, 1, 1]


@poses("S12")
async def test_a_steer_during_the_last_answer_leads_on(kernel: Kernel) -> None:
    """The finish finds it open, and the Turn takes another step instead (S12)."""
    run = _steered(kernel, 3)

    turn = await run.complete()

    assert turn.result == {"parts": [{"type": "text", "text": "in French: cinq"}]}
    assert [message.parts for message in turn.messages] == [
        (text_part("five"),),
        (text_part("in French: cinq"),),
    ]
    assert run.provider.requests == 4


async def test_a_steer_withdrawn_behind_the_finish_changes_nothing(kernel: Kernel) -> None:
    """The answer that the checkpoint holds is given again, and nobody is asked."""
    run = _steered(kernel, 3)
    run.backend.submit("go")
    run.fault = ("after", _finish(kernel), Killed())
    await run.survive()
    assert run.deaths == 1

    run.turn.inputs.clear()
    await run.survive()

    assert run.turn.result == {"parts": [{"type": "text", "text": "five"}]}
    assert run.provider.requests == 3


def _finish(kernel: Kernel) -> int:
    """Number of the first finishing commit: pydantic-ai applies each local result apart."""
    return 4 if kernel.harness == "scripted" else 6


DEATHS = [
    pytest.param(kernel, side, number, id=f"{kernel.id}-{side}-{number}")
    for kernel in KERNELS[:2]  # the two that differ in their commits
    for side in ("before", "after")
    for number in range(_finish(kernel))
]


@pytest.mark.parametrize("request_number", [1, 2, 3])
@pytest.mark.parametrize(("dying", "side", "number"), DEATHS)
async def test_an_input_survives_any_death_exactly_once(
    dying: Kernel, side: str, number: int, request_number: int
) -> None:
    """It is in no prompt twice, and it is applied once."""
    run = _steered(dying, request_number)
    run.fault = (side, number, Killed())

    await run.complete()

    assert run.deaths == 1
    assert max(_count(prompt) for prompt in run.provider.prompts) == 1
    assert len(run.turn.applied_inputs) == 1


@poses("S11")
async def test_an_input_waits_while_a_stored_outcome_is_replayed(kernel: Kernel) -> None:
    """The replayed request is the one that was answered; the input is in the next (S11)."""
    run = Bench(kernel, Provider(REPLIES))
    run.trips = 1
    run.backend.submit("go")
    await run.survive()

    run.backend.steer("in French")
    while run.turn.status != "COMPLETED":
        await run.survive()

    assert [_count(prompt) for prompt in run.provider.prompts] == [0, 1, 1]
    assert run.turn.failures == ["TIMEOUT"]
