"""Processes of the simulation: the Brain's own code, in which every step waits to be let go.

A process is a list of pending steps: database work, answers of models, effects of tools. Whoever
takes one runs it here and now, and then turns the loop until everybody waits again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from hands_app.contract.ids import new_id
from sessions_app.brain.database import fresh
from sessions_app.brain.lease import Leases
from sessions_app.brain.loop import Driver
from sessions_app.brain.scheduler import Scheduler
from sessions_app.contract.backend import HostIdentity
from sessions_app.contract.errors import Incompatible, OwnershipLost, Unavailable
from sessions_app.harnesses.scripted.adapter import ScriptedAdapter
from tests.simulation import agents
from tests.simulation.clockwork import Clock, HandLoop
from tests.simulation.predict.state import LEASE

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sessions_app.brain.database import Database
    from sessions_app.brain.lease import Held
    from sessions_app.contract.backend import Claim
    from sessions_app.ports import SessionBackend

P = ParamSpec("P")
T = TypeVar("T")
SLOTS: Final = 16
DRAIN: Final = 20.0
_ORDINARY: Final = (Unavailable, OwnershipLost, Incompatible)


@dataclass
class Step:
    """Something that a process waits for."""

    kind: str
    work: Callable[[Random], Any]
    answer: asyncio.Future[Any]


@dataclass
class Brain:
    """One process that runs agents. `ended` is told of each claim that it drove to its end."""

    clock: Clock
    backend: SessionBackend
    build: str
    ended: Callable[[Brain, Claim], object]
    host: HostIdentity = field(init=False)
    effects: list[tuple[str, str]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    stalled: bool = False
    dead: bool = False

    def __post_init__(self) -> None:
        """Assemble as a process does."""
        definitions = (agents.AGENT, agents.OTHER)
        self.host = HostIdentity(new_id("host_"), "brain", "here", 1, self.build, definitions)
        self.loop = HandLoop(self.clock)
        self.leases = Leases(LEASE.total_seconds())
        database = cast("Database", _StepByStep(self))
        self.scheduler = Scheduler(self.backend, database, self.host, self.leases)
        adapter = ScriptedAdapter()
        driver = Driver(
            self.backend,
            database,
            agents.definition,
            lambda _: adapter,
            lambda: self.scheduler.drains,
        )
        self.scheduler.open(cast("Driver", _Watched(self, driver)), SLOTS)
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def name(self) -> str:
        """The host id."""
        return self.host.host_id

    def hint(self, thread_pk: str | None = None) -> None:
        """Have it look, at the hinted Thread first: the claim becomes a pending step."""
        self._begin(self.scheduler.look(thread_pk))

    def drain(self) -> None:
        """Tell it to stop: Turns are handed over, nothing more is claimed (S24)."""
        self._begin(self.scheduler.drain(DRAIN))

    def _begin(self, work: Any) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.loop.pump()

    def ready(self) -> list[Step]:
        """Steps that somebody still waits for."""
        self.steps = [step for step in self.steps if not step.answer.done()]
        return self.steps

    def take(self, step: Step, rng: Random) -> None:
        """Run one step and everything that follows until all wait again."""
        self.steps.remove(step)
        try:
            answer = step.work(rng)
        except Exception as error:  # outermost: of a step; who waits is told
            if step.kind == "database" and not isinstance(error, _ORDINARY):
                raise
            step.answer.set_exception(error)
        else:
            step.answer.set_result(answer)
        self.loop.pump()

    async def later(self, kind: str, work: Callable[[Random], T]) -> T:
        """Wait until the seed lets `work` happen."""
        if self.dead:
            raise asyncio.CancelledError
        answer: asyncio.Future[T] = self.loop.create_future()
        self.steps.append(Step(kind, work, answer))
        return await answer

    def die(self) -> None:
        """Be killed: nothing of it happens any more."""
        self.dead = True
        while tasks := asyncio.all_tasks(self.loop):
            for task in tasks:
                task.cancel()
            self.loop.pump()
        self.steps.clear()
        self.loop.close()


class _StepByStep:
    """The database of a process: each piece of work is a step."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Wait for the seed, then work on the one connection that there is."""
        bound = partial(fresh, work, *args, **kwargs)
        return await self._brain.later("database", lambda _: bound())


class _Watched:
    """The Brain's driver. What it drove to its end was given back, or lost."""

    def __init__(self, brain: Brain, driver: Driver) -> None:
        self._brain = brain
        self._driver = driver

    async def drive(self, held: Held) -> None:
        """Drive, and say whose claim has ended."""
        agents.brain_of[held.claim.run_id] = self._brain
        await self._driver.drive(held)
        if not held.is_lost:
            self._brain.ended(self._brain, held.claim)
