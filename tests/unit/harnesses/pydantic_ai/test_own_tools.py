"""Tools of the user's own agent: run once, shown as ever, or left to a person."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset

from sessions_app.contract.status import CallState
from tests.contracts.harness.bench import Killed
from tests.covers import covers, poses
from tests.unit.harnesses.pydantic_ai.agents import agent, bench, calls, model, says


async def test_an_agents_own_tool_runs_once_whatever_dies() -> None:
    """It needs no registration; its effect class is the cautious one."""
    ran: Counter[str] = Counter()

    def count() -> int:
        ran["count"] += 1
        return 7

    run = bench(lambda: agent(calls(("count", {})), says("seven"), tools=[count]))
    run.fault = ("after", 1, Killed())

    turn = await run.complete()

    assert turn.result == {"parts": [{"type": "text", "text": "seven"}]}
    assert ran == {"count": 1}
    assert [(call.route, call.effect) for call in turn.calls.values()] == [("local", "once")]


async def test_a_registered_tool_keeps_the_agents_own_function() -> None:
    """The name is the agent's, route and effect are the registration's."""

    def generate_report(title: str) -> str:
        raise AssertionError(title)

    run = bench(
        lambda: agent(
            calls(("generate_report", {"title": "t"})), says("ok"), tools=[generate_report]
        ),
        results={"generate_report": "done elsewhere"},
    )

    turn = await run.complete()

    assert [(call.route, call.state) for call in turn.calls.values()] == [
        ("reports", CallState.COMPLETED)
    ]


async def test_a_tool_that_asks_for_a_retry_is_asked_again() -> None:
    """The advice reaches the model, the same from the store as live."""
    asked: list[int] = []

    def fetch(page: int) -> str:
        asked.append(page)
        if page == 1:
            message = "page 1 is empty"
            raise ModelRetry(message)
        return "text"

    seen: list[list[ModelMessage]] = []
    replies = [calls(("fetch", {"page": 1})), calls(("fetch", {"page": 2})), says("ok")]
    run = bench(lambda: Agent(model(*replies, seen=seen), tools=[fetch]))
    run.fault = ("after", 1, Killed())

    await run.complete()

    part = seen[1][-1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert (part.outcome, part.content) == ("retried", "page 1 is empty")
    assert asked == [1, 2]


async def test_retries_beyond_the_tools_limit_fail_the_turn() -> None:
    """The framework's own limit holds; the call is settled and nothing is in doubt."""

    def fetch() -> str:
        message = "never"
        raise ModelRetry(message)

    run = bench(lambda: agent(*[calls(("fetch", {}))] * 5, tools=[Tool(fetch, max_retries=1)]))

    turn = await run.complete()

    assert turn.status == "FAILED"
    assert {call.state for call in turn.calls.values()} == {CallState.FAILED}


async def test_a_failed_tool_is_shown_as_failed() -> None:
    """`ToolFailed` is a declared failure."""
    seen: list[list[ModelMessage]] = []

    def fetch() -> str:
        message = "gone"
        raise ToolFailed(message)

    run = bench(lambda: Agent(model(calls(("fetch", {})), says("ok"), seen=seen), tools=[fetch]))

    await run.complete()

    part = seen[1][-1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert (part.outcome, part.content) == ("failed", "gone")


@pytest.mark.parametrize("inside", [ApprovalRequired, CallDeferred])
async def test_a_tool_that_defers_itself_is_told_to_register(inside: type[Exception]) -> None:
    """The wish comes too late: the start record stands already."""

    def ask() -> str:
        raise inside

    run = bench(lambda: agent(calls(("ask", {})), says("ok"), tools=[ask]))

    await run.complete()

    (call,) = run.turn.calls.values()
    assert call.state is CallState.FAILED


async def test_a_tool_that_requires_approval_waits_for_a_person() -> None:
    """The agent's own flag is enough."""
    ran: Counter[str] = Counter()

    def wipe() -> str:
        ran["wipe"] += 1
        return "wiped"

    run = bench(
        lambda: agent(calls(("wipe", {})), says("ok"), tools=[Tool(wipe, requires_approval=True)])
    )
    run.backend.submit("go")

    await run.survive()

    assert run.turn.status == "WAITING"
    assert run.states() == {"wipe": CallState.INTENDED}
    assert ran == {}


async def test_an_external_tool_of_the_agent_waits_for_a_person() -> None:
    """Without a registration nobody else can answer it."""
    outside = ExternalToolset([ToolDefinition(name="ask_boss")])
    seen: list[list[ModelMessage]] = []
    run = bench(
        lambda: Agent(model(calls(("ask_boss", {})), says("ok"), seen=seen), toolsets=[outside]),
        results={"ask_boss": "yes"},
    )

    turn = await run.complete()

    assert [call.route for call in turn.calls.values()] == ["manual"]
    part = seen[1][-1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert part.content == "yes"


@covers("R209")
async def test_files_and_extra_content_of_a_tool_survive_the_store() -> None:
    """They arrive as produced (R209)."""
    picture = BinaryContent(b"\xff\x00", media_type="image/png")
    seen: list[list[ModelMessage]] = []

    def look() -> ToolReturn[str]:
        return ToolReturn("seen", content=["look:", picture], metadata={"n": 1})

    run = bench(lambda: Agent(model(calls(("look", {})), says("ok"), seen=seen), tools=[look]))
    run.fault = ("after", 1, Killed())

    await run.complete()

    result, extra = seen[1][-1].parts
    assert isinstance(result, ToolReturnPart)
    assert isinstance(extra, UserPromptPart)
    assert (result.content, result.metadata) == ("seen", {"n": 1})
    words, shown = list(extra.content)
    assert isinstance(shown, BinaryContent)
    assert (words, shown.data, shown.media_type) == ("look:", b"\xff\x00", "image/png")


@poses("S15")
async def test_a_synchronous_tool_never_runs_on_the_loop() -> None:
    """A slow one holds up nobody else (S15)."""
    where: list[threading.Thread] = []

    def slow() -> None:
        where.append(threading.current_thread())

    run = bench(lambda: agent(calls(("slow", {})), says("ok"), tools=[slow]))

    await run.complete()

    assert where[0] is not threading.current_thread()
