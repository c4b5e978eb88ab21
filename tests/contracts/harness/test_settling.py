"""Settling: however a Turn ends, the next one finds a well-formed transcript (R161)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from sessions_app.contract.status import CallState, CheckpointKind
from sessions_app.harnesses.calls import NOT_EXECUTED
from sessions_app.harnesses.scripted.model import Call, Reply
from tests.contracts.harness.bench import Bench
from tests.contracts.harness.provider import Provider
from tests.covers import covers, poses

if TYPE_CHECKING:
    from sessions_app.harnesses.scripted.model import Transcript
    from tests.contracts.harness.kernels import Kernel

CALLS = (
    Call("add", {"a": 2, "b": 3}),
    Call("send_email", {"to": "a@b"}),
    Call("note", {"text": "x"}),
)


class ClientError(Exception):
    """What a provider answers to a request that it will never take."""

    status_code = 400


def _bench(kernel: Kernel, *replies: Reply) -> Bench:
    return Bench(kernel, Provider([*replies, Reply("the second answer"), Reply("unused")]))


def _results(prompt: Transcript) -> list[Any]:
    return [message["content"] for message in prompt if message["role"] == "tool"]


@poses("C50", "C54")
async def test_a_cancelled_turn_leaves_each_call_with_one_result(kernel: Kernel) -> None:
    """Real results are kept word for word; the call that never began says so (C50, C54)."""
    run = _bench(kernel, Reply("", CALLS))
    run.backend.submit("go")
    await run.survive()

    run.backend.cancel()
    await run.survive()
    await run.complete("next")

    assert run.backend.turns[0].status == "FAILED"
    assert _results(run.provider.prompts[-1]) == [5, NOT_EXECUTED, {"noted": "x"}]
    assert run.provider.prompts[-1][-1]["text"] == "next"


async def test_a_turn_refused_by_the_provider_leaves_a_usable_thread(kernel: Kernel) -> None:
    """A definite client error ends the Turn; what was done before it stays in the history."""
    run = _bench(kernel, Reply("", (Call("add", {"a": 2, "b": 3}),)))

    async def refuse(number: int) -> None:
        if number == 2:
            raise ClientError

    run.provider.hook = refuse
    await run.complete("one")
    assert run.turn.status == "FAILED"
    assert run.turn.failures == ["HTTP_400"]

    await run.complete("two")

    assert run.turn.status == "COMPLETED"
    assert _results(run.provider.prompts[-1]) == [5]


@covers("R152")
@pytest.mark.parametrize("status", [429, 503])
async def test_a_passing_error_of_the_provider_is_tried_again(kernel: Kernel, status: int) -> None:
    """The error passes through the framework unchanged, so its status decides (R152)."""
    run = _bench(kernel)
    error = type("Passing", (Exception,), {"status_code": status})

    async def fail(number: int) -> None:
        if number == 1:
            raise error

    run.provider.hook = fail
    await run.complete()

    assert run.turn.failures == [f"HTTP_{status}"]
    assert run.turn.status == "COMPLETED"


async def test_an_outcome_stored_with_the_last_failure_is_not_history(kernel: Kernel) -> None:
    """A reply that no checkpoint took in does not reach the next Turn's prompt."""
    run = _bench(kernel, Reply("half", CALLS))
    run.trips = 1
    run.trip_error = ClientError()
    await run.complete("one")
    assert run.turn.status == "FAILED"

    run.trips = None
    run.provider.replies = [Reply("fresh")]
    await run.complete("two")

    assert [message["role"] for message in run.provider.prompts[-1]] == ["user"]
    assert run.turn.result == {"parts": [{"type": "text", "text": "fresh"}]}


@poses("C50")
async def test_an_outcome_above_the_checkpoint_is_settled_too(kernel: Kernel) -> None:
    """A frame that contains it has its calls closed: the next prompt is well-formed (C50)."""
    run = _bench(kernel, Reply("half", CALLS))
    run.backend.submit("one")
    run.backend.steer("and hurry")
    run.trips = 1
    await run.survive()
    assert run.provider.requests == 1

    run.settle()
    await run.complete("two")

    assert _results(run.provider.prompts[-1]) == [NOT_EXECUTED] * 3
    texts = [message.get("text") for message in run.provider.prompts[-1]]
    assert [text for text in texts if text] == ["one", "and hurry", "half", "two"]


async def test_an_outcome_that_comes_with_the_settled_frame_is_left_out(kernel: Kernel) -> None:
    """The clean-up did not see it, so the next Turn does not either."""
    run = _bench(kernel, Reply("half", CALLS))
    run.backend.submit("one")
    run.backend.steer("and hurry")
    run.trips = 1
    run.trip_error = ClientError()
    await run.survive()
    assert run.turn.status == "FAILED"

    run.trips = None
    run.provider.replies = [Reply("fresh")]
    await run.complete("two")

    texts = [message.get("text") for message in run.provider.prompts[-1]]
    assert texts == ["one", "and hurry", "two"]


@covers("R062")
async def test_a_turn_beyond_its_round_limit_leaves_a_usable_thread(kernel: Kernel) -> None:
    """The runtime counts over all Runs of the Turn; no framework counter is used (R062)."""
    run = _bench(kernel, *[Reply("", (Call("add", {"a": 1, "b": 1}),))] * 3)
    run.backend.round_limit = 3
    await run.complete("one")
    assert run.turn.failures == ["ITERATION_LIMIT"]

    await run.complete("two")

    assert run.turn.status == "COMPLETED"
    assert _results(run.provider.prompts[-1]) == [2, 2, 2]


async def test_a_pause_repeats_nothing(kernel: Kernel) -> None:
    """The Turn stops at a boundary and goes on from there."""
    run = _bench(kernel, Reply("", (Call("add", {"a": 1, "b": 1}),)))

    async def pause(_number: int) -> None:
        run.turn.pause = not run.turn.failures and run.provider.requests == 1

    run.provider.hook = pause
    run.backend.submit("one")
    await run.survive()
    assert run.turn.status == "WAITING"

    run.turn.pause = False
    while run.turn.status != "COMPLETED":
        await run.survive()

    assert run.provider.requests == 2
    assert run.tools.ran == {"add": 1}


async def test_a_cancelled_request_leaves_no_outcome(kernel: Kernel) -> None:
    """The end of a process is not the end of the Turn: nothing half-done is stored."""
    run = _bench(kernel)

    async def stop(number: int) -> None:
        if number == 1:
            run.stop()
            await asyncio.Event().wait()

    run.provider.hook = stop
    run.backend.submit("one")
    await run.survive()
    assert run.backend.entries == []
    assert run.turn.status == "WAITING"

    await run.survive()

    assert run.turn.status == "COMPLETED"
    assert run.turn.failures == []


async def test_settling_is_pure_and_gives_the_same_twice(kernel: Kernel) -> None:
    """It reads the stored state and writes nothing."""
    run = _bench(kernel, Reply("", CALLS))
    run.backend.submit("go")
    await run.survive()
    native = run.backend.load(run.backend.claim())

    once, again = (kernel.adapter.settle(native) for _ in range(2))

    assert once == again
    entries, frame = once
    assert frame is not None
    assert frame.kind == CheckpointKind.SETTLED
    assert len(entries) == 1
    assert run.states()["send_email"] == CallState.INTENDED


async def test_a_turn_that_stored_nothing_needs_no_settling(kernel: Kernel) -> None:
    """No entry, no frame: the Thread stays as it was."""
    run = _bench(kernel)
    run.backend.submit("go")

    settled = kernel.adapter.settle(run.backend.load(run.backend.claim()))

    assert settled == ((), None)
