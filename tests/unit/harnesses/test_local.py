"""Local tools: judged as their binding says, and never on the loop when they are synchronous."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hands_app.contract.ids import new_id
from hands_app.contract.tools import Tool, ToolCancelled, ToolContext, tool
from sessions_app.contract.identity import DefinitionKey
from sessions_app.harnesses.local import perform, tool_context
from sessions_app.ports import RunContext, ToolReturn
from tests.covers import covers, poses


async def _run(tool: Tool, **arguments: Any) -> ToolReturn:
    key = DefinitionKey("a", "1")
    context = RunContext("n", "s", "main", new_id("turn_"), new_id("run_"), key)
    return await perform(tool, arguments, tool_context(context, new_id("exe_")))


@poses("S15")
async def test_a_synchronous_tool_runs_in_a_thread() -> None:
    """A slow one holds up nobody else (S15)."""

    @tool
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await _run(where) == ToolReturn(content=False)


async def test_a_tool_is_told_who_called() -> None:
    """Origin and key, which are no arguments of the model."""

    @tool
    async def who(context: ToolContext) -> list[str]:
        return [context.origin.session_id, context.execution_key[:4]]

    assert await _run(who) == ToolReturn(["s", "exe_"])


@covers("R209", "R210")
async def test_an_exception_is_a_failure_where_the_binding_says_so() -> None:
    """Otherwise it says nothing about the effect and passes through (R209, R210)."""

    def fall() -> str:
        raise LookupError("no such row")  # noqa: TRY003, EM101 - as a careless author writes

    declared = await _run(tool(exceptions="failed")(fall))

    assert (declared.error_code, declared.error_text) == (
        "TOOL_EXCEPTION",
        "LookupError: no such row",
    )
    with pytest.raises(LookupError):
        await _run(tool(fall))


@covers("R209")
async def test_an_empty_return_is_in_doubt_where_a_value_was_promised() -> None:
    """The signature says whether None is a result (R209)."""

    @tool
    def promised() -> str:
        return None  # type: ignore[return-value]

    @tool
    def free() -> None:
        return None

    with pytest.raises(TypeError, match="promises a value"):
        await _run(promised)
    assert await _run(free) == ToolReturn(None)


async def test_a_confirmed_stop_is_an_error_result() -> None:
    """The tool says that it left no effect."""

    @tool
    def stopped() -> str:
        raise ToolCancelled

    assert (await _run(stopped)).error_code == "CANCELLED"


@pytest.mark.parametrize("value", [float("nan"), 2**60, object()])
async def test_a_return_that_is_no_json_is_an_error_result(value: object) -> None:
    """The effect has happened, so it must not be repeated for that."""

    @tool
    def odd() -> Any:
        return value

    assert (await _run(odd)).error_code == "INVALID_RESULT"


async def test_odd_text_of_a_tool_is_replaced_by_a_marker() -> None:
    """NUL and half a surrogate pair do not travel (design section 10)."""

    @tool
    def odd() -> str:
        return "a\x00b\ud800"

    assert await _run(odd) == ToolReturn("a\ufffdb\ufffd")
