"""Tools whose every effect is one line of a file, for tests that count effects.

The file is `ORACLE` of the environment; a line is `tool execution-key`.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from hands_app.contract.messages import ExecutionResult, ExecutionState
from hands_app.tools import NeverHappened, ToolContext, tool


def effects(file: Path) -> list[str]:
    """Return the lines of the oracle."""
    return file.read_text().splitlines() if file.exists() else []


def _happen(name: str, key: str) -> None:
    with Path(os.environ["ORACLE"]).open("ab", buffering=0) as file:
        file.write(f"{name} {key}\n".encode())


@tool(route="hands", effect="once")
def send(context: ToolContext) -> str:
    """Have an effect that nobody can look up."""
    _happen("send", context.execution_key)
    return "sent"


@tool(route="hands", effect="idempotent")
def put(context: ToolContext) -> str:
    """Have an effect that is the same however often it happens."""
    _happen("put", context.execution_key)
    return "put"


@tool(route="hands", effect="read")
def peek(context: ToolContext) -> str:
    """Read; the line only says that it ran."""
    _happen("peek", context.execution_key)
    return "seen"


def find_order(execution_key: str, arguments: dict[str, object]) -> object:
    """Say whether the effect happened."""
    if f"order {execution_key}" in effects(Path(os.environ["ORACLE"])):
        return ExecutionResult(state=ExecutionState.COMPLETED, content="found")
    return NeverHappened()


@tool(route="hands", effect="queryable", lookup=find_order)
def order(context: ToolContext) -> str:
    """Have an effect that can be looked up."""
    _happen("order", context.execution_key)
    return "ordered"


@tool(route="hands", effect="once")
def wait_for(path: str, context: ToolContext) -> str:
    """Have an effect, then wait until a file exists."""
    _happen("wait_for", context.execution_key)
    _wait(path)
    return "waited"


@tool(route="hands", effect="idempotent")
def put_and_wait(path: str, context: ToolContext) -> str:
    """Have an effect that is the same however often, then wait until a file exists."""
    _happen("put_and_wait", context.execution_key)
    _wait(path)
    return "put"


@tool(route="hands", effect="read")
def hog(size: int) -> int:
    """Take so many bytes of memory."""
    return len(bytearray(size))


def _wait(path: str) -> None:
    while not Path(path).exists():
        threading.Event().wait(0.01)


tools = [send, put, peek, order, wait_for, put_and_wait, hog]
