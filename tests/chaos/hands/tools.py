"""A tool for each effect class, each on a route of its own; every effect is a line of the oracle.

The file is `ORACLE` of the environment; a line is `execution-key tool`. Between the effect and the
return there is a fault point.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hands_app.contract.faults import declare, faultpoint
from hands_app.contract.messages import ExecutionResult, ExecutionState
from hands_app.tools import NeverHappened, Tool, ToolCancelled, ToolContext, tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hands_app.contract.binding import EffectClass

HALFWAY: Final = "oracle.effect.after_line"
GATE: Final = "GATE"
"""Names a file in the environment: while it is there, slow tools wait after their effect."""

declare(HALFWAY)


def effects(oracle: Path) -> list[str]:
    """Return the execution keys of the oracle, one for each effect."""
    lines = oracle.read_text().splitlines() if oracle.exists() else []
    return [line.split()[0] for line in lines]


def _happen(name: str, context: ToolContext) -> None:
    with Path(os.environ["ORACLE"]).open("ab", buffering=0) as file:
        file.write(f"{context.execution_key} {name}\n".encode())
    faultpoint(HALFWAY)


@tool(route="read", effect="read")
def peek(context: ToolContext) -> str:
    """Read; the line only says that it ran."""
    _happen("peek", context)
    return "seen"


@tool(route="idempotent", effect="idempotent")
def put(context: ToolContext) -> str:
    """Have an effect that is the same however often it happens."""
    _happen("put", context)
    return "put"


def find_order(execution_key: str, arguments: dict[str, object]) -> object:
    """Say whether the effect happened."""
    if execution_key in effects(Path(os.environ["ORACLE"])):
        return ExecutionResult(state=ExecutionState.COMPLETED, content="ordered")
    return NeverHappened()


@tool(route="queryable", effect="queryable", lookup=find_order)
def order(context: ToolContext) -> str:
    """Have an effect that can be looked up."""
    _happen("order", context)
    return "ordered"


@tool(route="once", effect="once")
def send(context: ToolContext) -> str:
    """Have an effect that nobody can look up."""
    _happen("send", context)
    return "sent"


@tool(route="idempotent", effect="idempotent")
def put_slowly(context: ToolContext) -> str:
    """Have an effect that is the same however often, and end when the gate is gone."""
    return _slowly("put", context)


@tool(route="queryable", effect="queryable", lookup=find_order)
def order_slowly(context: ToolContext) -> str:
    """Have an effect that can be looked up, and end when the gate is gone."""
    return _slowly("ordered", context)


@tool(route="once", effect="once")
def send_slowly(context: ToolContext) -> str:
    """Have an effect that nobody can look up, and end when the gate is gone."""
    return _slowly("sent", context)


@tool(route="once", effect="once")
def be_patient(context: ToolContext) -> str:
    """Wait until the gate is gone or a cancel comes, without any effect."""
    while Path(os.environ[GATE]).exists():
        if context.cancelled.wait(0.01):
            raise ToolCancelled
    return "waited"


def _slowly(answer: str, context: ToolContext) -> str:
    _happen("slow", context)
    while Path(os.environ[GATE]).exists():
        threading.Event().wait(0.01)
    return answer


QUICK: Final[Sequence[Tool]] = (peek, put, order, send)
BY_CLASS: Final[Mapping[EffectClass, Tool]] = {each.binding.effect: each for each in QUICK}
ANSWERS: Final[Mapping[str, str]] = {
    "peek": "seen",
    "put": "put",
    "order": "ordered",
    "send": "sent",
}
tools: Final[list[Tool]] = [*QUICK, put_slowly, order_slowly, send_slowly, be_patient]
