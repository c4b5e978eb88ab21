"""Runs a registered tool in this process; synchronous functions never run on the loop (S15)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

import pydantic_core

from hands_app.contract.binding import ExceptionPolicy, ToolBinding
from hands_app.contract.errors import InvalidJson
from hands_app.contract.messages import Origin
from hands_app.contract.strict_json import JsonValue, clean
from hands_app.contract.tools import Tool, ToolCancelled, ToolContext, ToolError
from sessions_app.ports import RunContext, ToolReturn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_NO_JSON: Final = "The tool ran, but what it returned is no JSON value"


def tool_context(context: RunContext, execution_id: str) -> ToolContext:
    """What a tool may know of its call: origin, and a key that every attempt shares (R177)."""
    origin = Origin(
        namespace=context.namespace,
        session_id=context.session_id,
        thread_id=context.thread_id,
        turn_id=context.turn_id,
        run_id=context.run_id,
    )
    return ToolContext(execution_key=execution_id, origin=origin)


async def perform(tool: Tool, arguments: dict[str, JsonValue], context: ToolContext) -> ToolReturn:
    """Run a tool once and judge how it ended."""

    async def run() -> object:
        return await call(tool, tool.call_arguments(arguments, context))

    return await judged(tool.binding, run)


async def judged(
    binding: ToolBinding,
    run: Callable[[], Awaitable[object]],
    encode: Callable[[object], object] = pydantic_core.to_jsonable_python,
) -> ToolReturn:
    """How a run ended.

    An exception that the tool did not declare says nothing about the effect and passes through, so
    that the effect class decides, as after a crash (R209). So does an empty return where the
    signature promises a value.
    """
    try:
        value = await run()
    except ToolError as error:
        return failed(error.message, error.reason)
    except ToolCancelled:
        return failed("The tool stopped on request and left no effect.", "CANCELLED")
    except Exception as error:  # the binding says what any exception means
        if binding.exceptions is ExceptionPolicy.FAILED:
            return failed(f"{type(error).__name__}: {error}", "TOOL_EXCEPTION")
        raise
    if value is None and not binding.allows_none:
        msg = f"tool {binding.name} returned nothing where its signature promises a value"
        raise TypeError(msg)
    return _readable(value, encode)


async def call(tool: Tool, given: dict[str, Any]) -> object:
    """Call the function, in a thread unless it is a coroutine function."""
    if tool.is_async:
        return cast("object", await tool.function(**given))
    return await asyncio.to_thread(tool.function, **given)


def _readable(value: object, encode: Callable[[object], object]) -> ToolReturn:
    """A return as JSON. The effect has happened, so one that is none is an error result.

    What is plain JSON already is looked at as it is, since an encoder hides a number that would
    change, and is itself stopped by depth.
    """
    try:
        return ToolReturn(_plain(value, encode))
    except InvalidJson as error:
        return failed(f"{_NO_JSON}: {error}", "INVALID_RESULT")
    except (ValueError, TypeError, RecursionError) as error:
        return failed(f"{_NO_JSON}: {type(error).__name__}.", "INVALID_RESULT")


def _plain(value: object, encode: Callable[[object], object]) -> JsonValue:
    try:
        return clean(value).value
    except InvalidJson as error:
        if error.reason != "TYPE":
            raise
    return clean(encode(value)).value


def failed(text: str, code: str) -> ToolReturn:
    """An error result. The content keeps the code, so that a replay can tell the kinds apart."""
    return ToolReturn({"code": code}, error_code=code, error_text=str(clean(text).value))
