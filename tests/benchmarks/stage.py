"""One Turn in this process: the real store, driver and kernel, each call of the store recorded.

No broker and no threads of a Brain, so that nothing but the Turn is counted.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from hands_app.contract.ids import new_id
from sessions_app import harnesses
from sessions_app.brain.database import Database
from sessions_app.brain.lease import Held
from sessions_app.brain.loop import Driver
from sessions_app.contract.backend import HostIdentity
from sessions_app.contract.content import user_input
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.harnesses.scripted.model import Script
from sessions_app.models import Turn
from sessions_app.registry import Definition
from sessions_app.store import admission
from sessions_app.store.backend import StoreBackend
from tests.benchmarks.counting import Operation, recorded
from tests.benchmarks.crew.scripts import TOOLS, reply, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from sessions_app.contract.backend import Claim

P = ParamSpec("P")
T = TypeVar("T")

KEY = DefinitionKey("bench", "1")
LEASE = 3600.0
AGENT = Definition(
    KEY,
    "scripted",
    lambda _binding: Script(reply, send),
    TOOLS,
    bindings={tool.name: tool.binding for tool in TOOLS},
)
_names = itertools.count(1)


class Silence:
    """A Wakeups that nobody hears; `rung` counts what would be a message to the broker."""

    rung = 0

    def ring(self, _thread_pk: str, _definition: DefinitionKey) -> None:
        """Count."""
        type(self).rung += 1


class Watched(Database):
    """The Brain's database thread, with a look at each piece of work."""

    def __init__(self, look: Callable[[str], AbstractContextManager[Operation]]) -> None:
        """`look` is entered on the thread, around the work."""
        super().__init__(1)
        self.operations: list[Operation] = []
        self.look = look

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """See the base."""
        return await super().__call__(self._looked, partial(work, *args, **kwargs), _name(work))

    def _looked(self, work: Callable[[], T], name: str) -> T:
        with self.look(name) as operation:
            answer = work()
        self.operations.append(operation)
        return answer


@dataclass
class Stage:
    """A host over the test's database that drives Turns one after another."""

    look: Callable[[str], AbstractContextManager[Operation]] = recorded
    backend: StoreBackend = field(default_factory=lambda: StoreBackend("bench"))

    def __post_init__(self) -> None:
        """Join as a Brain does."""
        self.database = Watched(self.look)
        self.host = HostIdentity(new_id("host_"), "brain", "here", 1, "bench", (KEY,))
        self.backend.join(self.host, 1)
        self.driver = Driver(
            backend=self.backend,
            database=self.database,
            definition=_agent,
            adapter=harnesses.adapter,
            drains=lambda: False,
        )

    def look_with(self, look: Callable[[str], AbstractContextManager[Operation]]) -> None:
        """Look at what comes from now on in another way."""
        self.look = self.database.look = look

    def close(self) -> None:
        """End the thread."""
        self.database.close()

    def session(self) -> SessionKey:
        """Make a Session of its own."""
        key = SessionKey("bench", f"s{next(_names)}-{time.time_ns()}")
        admission.create_session(key, KEY)
        return key

    def submit(self, key: SessionKey, text: str) -> tuple[Operation, str]:
        """Submit a Turn; gives what that cost, and the Turn."""
        content = user_input(text)
        request = f"r{next(_names)}"
        with self.look("submit") as operation:
            receipt = admission.submit(key.thread(), request, content, {})
        return operation, receipt.turn_id

    def drive(self, turn_id: str) -> list[Operation]:
        """Claim by hint, drive to the end, look for more; gives what each call of the store said.

        As a Brain does it that was idle.
        """
        self.database.operations.clear()
        asyncio.run(self._drive(Turn.objects.get(pk=turn_id).thread_id))
        return list(self.database.operations)

    def finish(self, claim: Claim) -> None:
        """Drive a Turn that is claimed to its end."""
        asyncio.run(self.driver.drive(Held(claim, time.monotonic(), LEASE)))

    async def _drive(self, thread_pk: str) -> None:
        claim: Any = partial(self.database, self.backend.claim, self.host, limit=8)
        (claimed,) = await claim(first=thread_pk)
        await self.driver.drive(Held(claimed, time.monotonic(), LEASE))
        assert await claim() == []


async def _agent(_key: DefinitionKey) -> Definition:
    return AGENT


def _name(work: Callable[..., object]) -> str:
    return str(getattr(work, "__name__", type(work).__name__))
