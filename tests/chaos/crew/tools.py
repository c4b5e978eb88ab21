"""Tools whose effects are counted: two run in Hands, the others in the Brain's process.

No Django here: a Hands process loads this module too.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from durable_site.demo import oracle
from hands_app.tools import Tool, ToolContext, ToolError, tool

FOLDER = Path(os.environ.get("CREW_FOLDER", "."))


@tool(effect="idempotent")
def note(word: str, context: ToolContext) -> str:
    """Leave a note."""
    oracle.record("note", context.execution_key)
    return f"noted {word}"


@tool(effect="once")
def once(word: str, context: ToolContext) -> str:
    """Do something that must not be repeated."""
    oracle.record("once", context.execution_key)
    return f"did {word}"


@tool(effect="once")
def refuse(word: str, context: ToolContext) -> str:
    """Have an effect and fail, as tools declare it."""
    oracle.record("refuse", context.execution_key)
    raise ToolError(word, code="REFUSED")


@tool(route="hands", effect="once", deadline=120.0)
def errand(word: str, context: ToolContext) -> str:
    """Do something elsewhere that must not be repeated."""
    oracle.record("errand", context.execution_key)
    return f"ran {word}"


@tool(route="hands", effect="idempotent", deadline=120.0)
def keep(word: str, context: ToolContext) -> str:
    """Do something elsewhere that is the same however often it is done."""
    oracle.record("keep", context.execution_key)
    return f"kept {word}"


@tool(effect="once")
def slow(word: str, context: ToolContext) -> str:
    """Have an effect, then go on for as long as the file `slow` is there."""
    oracle.record("slow", context.execution_key)
    while (FOLDER / "slow").exists():
        threading.Event().wait(0.02)
    return f"took long to {word}"


tools: list[Tool] = [note, once, refuse, errand, keep, slow]
