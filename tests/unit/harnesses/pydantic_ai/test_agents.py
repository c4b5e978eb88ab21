"""What users do with their agents works unchanged in a durable Turn."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from sessions_app.contract.backend import text_part
from tests.contracts.harness.bench import Bench, Killed
from tests.covers import covers, poses
from tests.unit.harnesses.pydantic_ai.agents import agent, bench, calls, model, says


async def test_deps_come_with_the_agent() -> None:
    """A factory may return the deps of this run beside the agent."""

    def build() -> tuple[Agent[str, str], str]:
        made: Agent[str, str] = Agent(model(calls(("who", {})), says("ok")), deps_type=str)

        @made.tool
        def who(ctx: RunContext[str]) -> str:
            return ctx.deps

        return made, "me"

    run = bench(build)

    await run.complete()

    (call,) = run.turn.calls.values()
    assert call.result == {"content": "me", "errorText": None}


@covers("R074")
async def test_hidden_thinking_reaches_nothing_public() -> None:
    """It stays in the private journal (R074)."""
    thought = ModelResponse(parts=[ThinkingPart("the password"), TextPart("hello")])
    run = bench(lambda: agent(thought))

    turn = await run.complete()

    assert [message.parts for message in turn.messages] == [(text_part("hello"),)]
    assert "password" not in str(turn.result)


async def test_the_runtime_counts_rounds_and_not_the_framework() -> None:
    """A conversation may be longer than the framework's own default limit of requests."""
    ran: Counter[str] = Counter()

    def step() -> None:
        ran["step"] += 1

    many = [calls(("step", {}))] * 30
    run = bench(lambda: agent(*many, says("one"), *many, says("two"), tools=[step]))

    await run.complete()
    await run.complete()

    assert run.turn.status == "COMPLETED"
    assert ran == {"step": 60}


@poses("C39")
async def test_instructions_and_system_prompt_are_in_every_prompt_once() -> None:
    """Recovery and later Turns add none (C39)."""
    seen: list[list[ModelMessage]] = []

    def build() -> Agent[Any, Any]:
        return Agent(
            model(calls(("nothing", {})), says("a"), says("b"), seen=seen),
            system_prompt="Be short.",
            instructions="Be kind.",
            tools=[Tool(lambda: None, name="nothing")],
        )

    run = bench(build)
    run.fault = ("after", 2, Killed())
    await run.complete("one")
    await run.complete("two")

    for prompt in seen:
        kinds = [part.part_kind for message in prompt for part in message.parts]
        assert kinds.count("system-prompt") == 1
        last = prompt[-1]
        assert isinstance(last, ModelRequest)
        assert last.instructions == "Be kind."
    assert [part.part_kind for m in seen[-1] for part in m.parts].count("user-prompt") == 2


@poses("C39")
async def test_three_recoveries_add_nothing_to_the_prompt() -> None:
    """Each host begins with the original input and finds it in the history: it is said once."""
    seen: list[list[str]] = []

    async def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        seen.append([part.part_kind for message in messages for part in message.parts])
        if len(messages) == 1:
            return calls(("nothing", {}))
        if len(seen) < 5:
            raise Killed
        return says("done")

    def build() -> Agent[Any, Any]:
        nothing = Tool(lambda: None, name="nothing")
        return Agent(FunctionModel(answer), system_prompt="Be short.", tools=[nothing])

    run = bench(build)

    turn = await run.complete("one")

    assert (turn.status, run.deaths) == ("COMPLETED", 3)
    opening = ["system-prompt", "user-prompt"]
    assert seen == [opening, *[[*opening, "tool-call", "tool-return"]] * 4]


@poses("C40")
async def test_the_journal_grows_with_what_is_new() -> None:
    """No entry repeats the history: bytes written stay within 3x of the content (C40)."""
    text = "x" * 2_000

    def read() -> str:
        return text

    many = [calls(("read", {}))] * 40
    run = bench(lambda: agent(*many, says("done"), tools=[read], instructions="Be kind."))

    await run.complete()

    written = sum(len(str(entry.body)) for entry in run.backend.entries)
    frames = sum(len(str(frame.body)) for frame in run.backend.frames)
    assert written + frames < 3 * 40 * len(text)
    assert _half(run) < 0.6 * written


def _half(run: Bench) -> int:
    """Bytes of the first half of the entries: a linear journal has half of them there."""
    entries = run.backend.entries
    return sum(len(str(entry.body)) for entry in entries[len(entries) // 2 :])


@poses("C44")
async def test_a_replay_under_other_instructions_is_refused() -> None:
    """A stored outcome is not an answer to another request (C44)."""
    said = iter(["Be kind.", "Be rude."])
    run = bench(lambda: Agent(model(says("hello")), instructions=next(said)))
    run.trips = 1

    turn = await run.complete()

    assert turn.failures == ["TIMEOUT", "DIVERGED"]
    assert turn.status == "FAILED"
