"""The tools of the suite, with a count of what really ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from hands_app.contract.tools import Tool, ToolContext, ToolError, tool
from hands_app.contract.waiting import wait_for


@dataclass
class Toolbox:
    """Tools of each kind that share a counter."""

    ran: Counter[str] = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)

    def all(self) -> tuple[Tool, ...]:
        """Every tool of the suite, the same objects each time."""
        return self._all

    @cached_property
    def _all(self) -> tuple[Tool, ...]:
        return (
            self.add(),
            self.note(),
            self.once(),
            self.report(),
            self.send(),
            self.fail(),
            self.broken(),
            self.paid(),
        )

    def add(self) -> Tool:
        """Local, repeatable."""

        @tool(name="add", effect="idempotent")
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.ran["add"] += 1
            return a + b

        return add

    def note(self) -> Tool:
        """Local, synchronous, told of its call."""

        @tool(name="note", effect="idempotent")
        def note(text: str, context: ToolContext) -> dict[str, str]:
            """Keep a note."""
            self.ran["note"] += 1
            self.keys.append(context.execution_key)
            return {"noted": text}

        return note

    def once(self) -> Tool:
        """Local, and never repeated."""

        @tool(name="once", effect="once")
        def once() -> str:
            """Do it once."""
            self.ran["once"] += 1
            return "done"

        return once

    def report(self) -> Tool:
        """Runs in Hands."""

        @tool(name="generate_report", route="reports")
        def generate_report(title: str) -> str:
            """Write a report."""
            raise AssertionError(title)

        return generate_report

    def send(self) -> Tool:
        """Local, and a person has to allow it."""

        @tool(name="send_email", approval="always")
        def send_email(to: str) -> str:
            """Send an email."""
            self.ran["send_email"] += 1
            return f"sent to {to}"

        return send_email

    def fail(self) -> Tool:
        """Declares its failure."""

        @tool(name="fail", effect="read")
        def fail() -> str:
            """Fail."""
            self.ran["fail"] += 1
            message = "the disk is full"
            raise ToolError(message, code="DISK_FULL")

        return fail

    def paid(self) -> Tool:
        """Waits for a signal of its order, for a moment only."""
        return wait_for("x.shop.paid", by="order", timeout=3, name="paid")

    def broken(self) -> Tool:
        """Has a programming error."""

        @tool(name="broken")
        def broken() -> str:
            """Raise."""
            self.ran["broken"] += 1
            message = "secret detail"
            raise RuntimeError(message)

        return broken
