"""Tool calls: who runs them, and what the model is shown of each outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sessions_app.contract.status import CallState
from sessions_app.harnesses.scripted.model import Call, Reply
from tests.contracts.harness.bench import Bench
from tests.contracts.harness.provider import Provider
from tests.covers import covers, poses

if TYPE_CHECKING:
    from tests.contracts.harness.kernels import Kernel


def _bench(kernel: Kernel, *calls: Call) -> Bench:
    provider = Provider([Reply("", calls), Reply("done"), Reply("done again")])
    return Bench(kernel, provider, results={"generate_report": "a report"})


def _results(run: Bench) -> list[dict[str, Any]]:
    """The tool results of the newest prompt."""
    return [message for message in run.provider.prompts[-1] if message["role"] == "tool"]


async def test_results_stand_in_call_order_whoever_ran_the_call(kernel: Kernel) -> None:
    """An outside call between two local ones keeps its place."""
    run = _bench(
        kernel,
        Call("add", {"a": 1, "b": 1}),
        Call("generate_report", {"title": "t"}),
        Call("note", {"text": "x"}),
    )

    await run.complete()

    assert [result["content"] for result in _results(run)] == [2, "a report", {"noted": "x"}]


async def test_a_turn_parks_with_the_intent_of_an_outside_call(kernel: Kernel) -> None:
    """Outcome, intent and park are one commit where nothing runs here."""
    run = _bench(kernel, Call("generate_report", {"title": "t"}))
    run.backend.submit("go")

    await run.survive()

    assert run.backend.commits == 1
    assert run.turn.status == "WAITING"
    assert run.states() == {"generate_report": CallState.INTENDED}


async def test_an_unknown_tool_and_wrong_arguments_are_error_results(kernel: Kernel) -> None:
    """The model reads what was wrong; nothing is intended and nothing runs."""
    run = _bench(kernel, Call("nonsense"), Call("add", {"a": "many"}))

    await run.complete()

    assert [result["failed"] for result in _results(run)] == [True, True]
    assert run.states() == {}
    assert run.tools.ran == {}


async def test_a_failure_that_the_tool_declares_is_an_error_result(kernel: Kernel) -> None:
    """Its words reach the model, the Turn goes on."""
    run = _bench(kernel, Call("fail"))

    await run.complete()

    (result,) = _results(run)
    assert (result["failed"], result["content"]) == (True, "the disk is full")
    assert run.states() == {"fail": CallState.FAILED}


@covers("R209")
async def test_an_undeclared_exception_leaves_the_effect_in_doubt(kernel: Kernel) -> None:
    """A `once` tool that raised is UNKNOWN: the Turn waits and the model is not asked (R209)."""
    run = _bench(kernel, Call("broken"))
    run.backend.submit("go")

    await run.survive()

    assert run.states() == {"broken": CallState.UNKNOWN}
    assert run.turn.status == "WAITING"
    assert run.provider.requests == 1


@covers("R177")
async def test_a_tool_is_told_the_stable_key_of_its_call(kernel: Kernel) -> None:
    """The key is the execution id, so it is the same in every attempt (R177)."""
    run = _bench(kernel, Call("note", {"text": "x"}))

    await run.complete()

    assert run.tools.keys == [call.execution_id for call in run.turn.calls.values()]


@poses("C52")
async def test_a_call_id_used_twice_in_one_reply_is_renamed(kernel: Kernel) -> None:
    """Each call gets its own result, under its own id (C52)."""
    run = _bench(kernel, Call("add", {"a": 1, "b": 1}, "c"), Call("add", {"a": 2, "b": 2}, "c"))

    await run.complete()

    assert [(result["call"], result["content"]) for result in _results(run)] == [
        ("c", 2),
        ("c~2", 4),
    ]


@poses("C52")
async def test_a_call_id_used_in_every_reply_names_different_calls(kernel: Kernel) -> None:
    """Rounds and Turns are told apart by the execution id (C52, I26)."""
    replies = [Reply("", (Call("add", {"a": n, "b": n}, "call_1"),)) for n in range(3)]
    run = Bench(kernel, Provider([*replies, Reply("one"), *replies, Reply("two")]))

    await run.complete()
    await run.complete()

    assert [result["content"] for result in _results(run)] == [0, 2, 4, 0, 2, 4]
    assert len({name for turn in run.backend.turns for name in turn.calls}) == 6


async def test_a_gated_call_waits_for_a_person_while_its_siblings_run(kernel: Kernel) -> None:
    """Refused, it never runs and the model reads that."""
    run = _bench(kernel, Call("send_email", {"to": "a@b"}), Call("add", {"a": 1, "b": 1}))
    run.backend.submit("go")
    await run.survive()
    assert run.states() == {"send_email": CallState.INTENDED, "add": CallState.COMPLETED}

    run.backend.refuse("send_email")
    await run.survive()

    email, added = _results(run)
    assert run.turn.status == "COMPLETED"
    assert (email["failed"], added["content"]) == (True, 2)
    assert run.tools.ran == {"add": 1}


@covers("R063")
async def test_a_second_turn_continues_the_conversation_with_fresh_counters(
    kernel: Kernel,
) -> None:
    """The prompt holds the first Turn once; ordinals begin anew (R063)."""
    run = Bench(kernel, Provider([Reply("first"), Reply("second")]))

    await run.complete("one")
    await run.complete("two")

    assert [message["text"] for message in run.provider.prompts[-1]] == ["one", "first", "two"]
    assert [call.ordinal for call in run.turn.model_calls] == [1]
