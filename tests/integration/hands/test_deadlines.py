"""A deadline that passes is a typed outcome, by effect class; and what a tool knows of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.messages import ExecutionState
from hands_app.contract.tools import NeverHappened, ToolContext, Unsure
from tests.covers import covers
from tests.integration.hands.examples import until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from hands_app.contract.tools import Tool
    from hands_app.worker.configuration import Configuration

SECONDS = 0.05


def too_slow(effect: str, answer: object = None) -> Tool:
    """Make a tool that misses its deadline."""

    def look(execution_key: str, arguments: dict[str, object]) -> object:
        assert execution_key
        assert arguments == {}
        return answer

    lookup = look if effect == "queryable" else None

    @remote(effect=effect, deadline=SECONDS, lookup=lookup)
    async def slow() -> str:
        await asyncio.Event().wait()
        return "late"

    return slow


@covers("R209")
@pytest.mark.parametrize(
    ("effect", "answer", "state", "code"),
    [
        ("read", None, ExecutionState.FAILED, "DEADLINE"),
        ("once", None, ExecutionState.UNKNOWN, "UNCERTAIN"),
        ("queryable", "found outside", ExecutionState.COMPLETED, None),
        ("queryable", Unsure(), ExecutionState.UNKNOWN, "UNCERTAIN"),
        ("queryable", NeverHappened(), ExecutionState.FAILED, "NO_EFFECT"),
    ],
)
def test_a_missed_deadline_is_decided_by_the_effect_class(
    configuration: Configuration,
    mailbox: Mailbox,
    effect: str,
    answer: object,
    state: ExecutionState,
    code: str | None,
) -> None:
    """R209: what only reads has failed; what can be asked about is; the rest is in doubt."""
    tool = too_slow(effect, answer)
    with serving(configuration, mailbox, tool) as host:
        command = call(host, tool)
        result = mailbox.result(command)

    assert (result.state, result.error and result.error.code) == (state, code)
    assert result.content == ("found outside" if state is ExecutionState.COMPLETED else None)


@covers("R209")
def test_an_idempotent_tool_is_tried_again_with_its_key_and_then_fails(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """Three starts under one key; each has a deadline of its own."""
    keys: list[str] = []
    seen: list[float | None] = []

    @remote(effect="idempotent", deadline=SECONDS)
    async def slow(context: ToolContext) -> str:
        keys.append(context.execution_key)
        seen.append(context.time_left())
        await asyncio.Event().wait()
        return "never"

    with serving(configuration, mailbox, slow) as host:
        command = call(host, slow)
        result = mailbox.result(command)

    assert (result.state, result.error and result.error.code) == (ExecutionState.FAILED, "DEADLINE")
    assert keys == [command.execution_id] * 3
    assert all(left is not None and 0 <= left <= SECONDS for left in seen)


@covers("R176", "R177")
def test_a_tool_reads_its_origin_key_and_time_from_its_context(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R176, R177: who asked, in which Run and Step; the stable key; how long it may take."""
    seen: list[ToolContext] = []

    @remote(effect="once", deadline=600)
    def look(context: ToolContext) -> str:
        seen.append(context)
        return "seen"

    @remote(effect="once")
    def endless(context: ToolContext) -> str:
        seen.append(context)
        return "seen"

    with serving(configuration, mailbox, look, endless) as host:
        first = call(host, look)
        mailbox.result(first)
        mailbox.result(call(host, endless))
        until(lambda: len(seen) == 2, "both ran")

    timed, untimed = seen
    assert (timed.origin, timed.execution_key) == (first.origin, first.execution_id)
    assert timed.attempt == 1
    left = timed.time_left()
    assert left is not None
    assert 0 < left <= 600
    assert untimed.time_left() is None
