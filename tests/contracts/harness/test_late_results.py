"""A result that comes while a failed Turn is cleaned up is what the next Turn reads (R161)."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from hands_app.contract.tools import Tool, tool
from sessions_app.contract.status import CallState, TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import ToolCall
from tests.contracts.harness.house import House, Mortal
from tests.contracts.harness.kernels import KERNELS
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from tests.stores import Store


class Racing(Toolbox):
    """One tool fails the Run while its sibling still works."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = asyncio.Event()

    @cached_property
    def _all(self) -> tuple[Tool, ...]:
        return (self.slow(), self.breaks())

    def slow(self) -> Tool:
        """Ends behind the failure of the other."""

        @tool(name="slow", effect="once")
        async def slow() -> str:
            """Take long."""
            await self.failed.wait()
            for _ in range(20):
                await asyncio.sleep(0)
            return "done after all"

        return slow

    def breaks(self) -> Tool:
        """Has a programming error."""

        @tool(name="breaks", effect="read")
        async def breaks() -> str:
            """Break."""
            self.failed.set()
            raise KeyError

        return breaks


@covers("R161")
async def test_a_sibling_that_ends_behind_the_failure_keeps_its_result(
    store: Store, threads: Database
) -> None:
    """The clean-up waits for effects that have begun, then says what came of them."""
    parallel = KERNELS[1]
    replies = [Reply("", (Call("slow"), Call("breaks"))), Reply("next")]
    house = House(store, parallel, Mortal(), threads, replies, tools=Racing())

    await house.complete(ends=TurnStatus.FAILED)
    await house.complete("r2")

    slow, _breaks = [said for said in house.provider.prompts[-1] if said["role"] == "tool"]
    assert slow["content"] == "done after all"
    call = await threads(ToolCall.objects.get, name="slow")
    assert call.state == CallState.COMPLETED
