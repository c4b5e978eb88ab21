"""Brain processes over the real store, each of which may die at a commit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from sessions_app.brain.lease import Held
from sessions_app.brain.loop import Driver
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.store.backend import StoreBackend
from tests.contracts.harness.bench import LONGEST, Killed, TrippingAdapter
from tests.contracts.harness.provider import Provider
from tests.contracts.harness.toolbox import Toolbox
from tests.stores import Store, host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.brain.database import Database
    from sessions_app.contract.backend import Claim, Commit, CommitAnswer, HostIdentity
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.machine.admission import Limits
    from sessions_app.models import Turn
    from sessions_app.ports import HarnessAdapter
    from sessions_app.registry import Definition
    from tests.contracts.harness.kernels import Kernel

COMMITS = {"scripted": 6, "pydantic_ai": 8}
"""Of a Turn that is answered so; pydantic-ai applies local results apart."""
REPLIES = (
    Reply("Adding.", (Call("add", {"a": 2, "b": 3}), Call("fail"))),
    Reply("", (Call("note", {"text": "five"}),)),
    Reply("All done."),
)


class Mortal(StoreBackend):
    """The real store, at whose commits a process can die."""

    def __init__(self, side: str = "never", number: int = 0) -> None:
        super().__init__("build-1")
        self._fault = (side, number)
        self._commits = 0

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Commit, and die at this side of the commit with this number."""
        number = self._commits
        self._commits += 1
        if self._fault == ("before", number):
            raise Killed
        answer = super().commit(claim, change)
        if self._fault == ("after", number):
            raise Killed
        return answer


@dataclass
class House:
    """Brain processes that die, one after the other, over one store."""

    store: Store
    kernel: Kernel
    backend: StoreBackend
    database: Database
    replies: Sequence[Reply] = REPLIES
    tools: Toolbox = field(default_factory=Toolbox)
    limits: Limits | None = None
    session: str = "chat"
    deaths: int = 0
    trips: int | None = None  # the answer behind which the first process fails
    trip_error: Exception = field(default_factory=TimeoutError)

    def __post_init__(self) -> None:
        self.provider = Provider(self.replies)

    async def complete(
        self, request: str = "r1", text: str = "go", ends: TurnStatus = TurnStatus.COMPLETED
    ) -> Turn:
        """Submit and drive to the end."""
        turn = await self.drive(await self.submit(request, text))
        assert turn.status == ends
        return turn

    async def submit(self, request: str = "r1", text: str = "go") -> str:
        """Submit a Turn and give its id."""
        return await self.database(self._submit, request, text)

    async def drive(self, turn_id: str) -> Turn:
        """Let one process after the other work until none may claim the Turn."""
        for _ in range(LONGEST):
            if not await self.process():
                break
        return await self.database(self.store.turn, turn_id)

    async def _definition(self, _key: DefinitionKey) -> Definition:
        return self.kernel.definition(self.provider, self.tools.all())

    async def process(self) -> bool:
        """One process: claim, drive, and perhaps die; False when there is nothing to claim."""
        me = await self.database(lambda: self.store.join(host()))
        claims = await self.database(lambda: self.store.backend.claim(me, limit=1))
        if not claims:
            return False
        adapter, self.trips = self._adapter(), None
        driver = Driver(
            self.backend,
            self.database,
            definition=self._definition,
            adapter=lambda _name: adapter,
            drains=lambda: False,
        )
        try:
            await driver.drive(Held(claims[0], time.monotonic(), 3600))
        except Killed:
            self.deaths += 1
            await self.database(self._bury, me)
        return True

    def _adapter(self) -> HarnessAdapter:
        if self.trips is None:
            return self.kernel.adapter
        tripping = TrippingAdapter(self.kernel.adapter, self.trips, self.trip_error)
        return cast("HarnessAdapter", tripping)

    def _submit(self, request: str, text: str) -> str:
        return self.store.submit(self.store.session(self.session), request, text, self.limits)

    def _bury(self, me: HostIdentity) -> None:
        self.store.die(me)
