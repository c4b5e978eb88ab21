"""Drives Turns of one Thread in memory through the Brain's real invocation; kills on request."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

from hands_app.contract.ids import new_id
from sessions_app.brain.lease import Held
from sessions_app.brain.loop import Driver
from sessions_app.contract.backend import Commit, Fail
from tests.contracts.harness.kernels import KEY, Kernel
from tests.contracts.harness.toolbox import Toolbox
from tests.doubles.memory_backend import MemoryBackend, MemoryTurn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.database import Database
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.contract.status import CallState
    from sessions_app.ports import (
        ExecutionHost,
        HarnessAdapter,
        InvocationEnd,
        ModelOutcome,
        SessionBackend,
    )
    from sessions_app.registry import Definition
    from tests.contracts.harness.provider import Provider

P = ParamSpec("P")
T = TypeVar("T")


LONGEST: Final = 20
"""Runs of one Turn, beyond which it is stuck."""


class Killed(BaseException):
    """The process dies here: nobody catches it."""


class Tripping:
    """An invocation that fails right behind answer `number`: an error of the framework, say."""

    def __init__(self, host: ExecutionHost, number: int, error: Exception) -> None:
        self._host = host
        self._number = number
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    async def ask_model(
        self, *, ordinal: int, send: Callable[[], Awaitable[ModelOutcome]], **asked: Any
    ) -> JsonValue:
        """Raise when the answer has come."""
        body = await self._host.ask_model(ordinal=ordinal, send=send, **asked)
        if ordinal == self._number:
            raise self._error
        return body


@dataclass
class TrippingAdapter:
    """The kernel's adapter over a tripping host."""

    inner: HarnessAdapter
    number: int
    error: Exception

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, definition: Definition, host: ExecutionHost) -> InvocationEnd:
        """Run once until it trips."""
        tripping = cast("ExecutionHost", Tripping(host, self.number, self.error))
        return await self.inner.run(definition, tripping)


class Inline:
    """The database executor, without threads: the backend is in memory."""

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run at once."""
        return work(*args, **kwargs)


@dataclass
class Bench:
    """One Thread, one kernel, one provider."""

    kernel: Kernel
    provider: Provider
    tools: Toolbox = field(default_factory=Toolbox)
    fault: tuple[str, int, BaseException] | None = None  # raised at this side of this commit
    results: dict[str, JsonValue] = field(default_factory=dict)  # what Hands answer, by tool name
    trips: int | None = None  # the answer behind which a Run fails, once
    trip_error: Exception = field(default_factory=TimeoutError)
    deaths: int = 0
    died: bool = False

    def __post_init__(self) -> None:
        self.backend = MemoryBackend(KEY, self._gate)

    @property
    def turn(self) -> MemoryTurn:
        """The newest Turn."""
        return self.backend.turn

    @property
    def definition(self) -> Definition:
        """A fresh definition, as another process would have it."""
        return self.kernel.definition(self.provider, self.tools.all())

    async def complete(self, text: str = "go") -> MemoryTurn:
        """Submit and drive to the end, over every death and every wait for Hands."""
        self.backend.submit(text)
        for _ in range(LONGEST):
            await self.survive()
            self.answer_hands()
            if self.turn.status in {"COMPLETED", "FAILED"}:
                return self.turn
        raise AssertionError(self.turn)

    async def survive(self) -> None:
        """Run one invocation; a death is noticed by the next."""
        try:
            await self.invoke()
        except Killed:
            self.deaths += 1
            self.died = True

    async def invoke(self) -> None:
        """Claim and drive to the last commit, as a Brain process does."""
        claim = self.backend.claim(died=self.died)
        self.died = False
        adapter = self._adapter()
        driver = Driver(
            cast("SessionBackend", self.backend),
            cast("Database", Inline()),
            definition=self._definition,
            adapter=lambda _name: adapter,
            drains=lambda: False,
        )
        self.held = Held(claim, time.monotonic(), 3600)
        await driver.drive(self.held)

    async def _definition(self, _key: DefinitionKey) -> Definition:
        return self.definition

    def settle(self) -> None:
        """End the Turn as failed, from the stored state alone."""
        claim = self.backend.claim()
        entries, frame = self.kernel.adapter.settle(self.backend.load(claim))
        end = Fail(
            error_class="Test",
            code="TEST",
            text="ended by the test",
            retryable=False,
            settled=frame,
            settled_entries=entries,
        )
        self.backend.commit(claim, Commit(change_id=new_id("chg_"), end=end))

    def stop(self) -> None:
        """Tell the process that runs the Turn to end, as a deploy does."""
        self.held.stop("drain")

    def answer_hands(self, times: int = 2) -> None:
        """Deliver what Hands have done, more than once, as transports do."""
        for _ in range(times):
            for name, content in self.results.items():
                self.backend.deliver(name, content)

    def states(self) -> dict[str, CallState]:
        """How each call ended, by tool name."""
        return {call.name: call.state for call in self.turn.calls.values()}

    def _adapter(self) -> HarnessAdapter:
        if self.trips is None or self.turn.failures:
            return self.kernel.adapter
        tripping = TrippingAdapter(self.kernel.adapter, self.trips, self.trip_error)
        return cast("HarnessAdapter", tripping)

    def _gate(self, side: str, number: int) -> None:
        if self.fault is not None and self.fault[:2] == (side, number):
            error, self.fault = self.fault[2], None
            raise error
