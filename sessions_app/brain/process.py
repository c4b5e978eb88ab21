"""A Brain process: all that drives Turns here, made after the fork, ended in order (S22, S24)."""

from __future__ import annotations

import logging
import os
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from sessions_app.brain.database import Database
from sessions_app.brain.eventloop import EventLoop
from sessions_app.brain.failure import trace
from sessions_app.brain.identity import identity
from sessions_app.brain.lease import Leases, Pulse, Renewals
from sessions_app.brain.loop import Driver
from sessions_app.brain.presence import presence
from sessions_app.brain.scheduler import Scanner, Scheduler
from sessions_app.brain.ticking import Ticking
from sessions_app.brain.watch import News, Watch
from sessions_app.contract.errors import Unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sessions_app.brain.agents import AgentDefinition, Agents
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.ports import HarnessAdapter, OwnExecutors, SessionBackend

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)

_LEAVE_SECONDS: Final = 2.0
_PATIENCE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Figures:
    """The settings that a process needs; durations in seconds."""

    lease: float
    renew: float
    scan: float
    sweep: float
    drain: float
    slots: int
    database_threads: int
    state_dir: Path
    frozen: float = 60.0
    accepts_changes: bool = False  # of a definition under its label (C39)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the assembly hands in: the rooms above this one."""

    backend: Callable[[str], SessionBackend]
    agents: Agents
    adapter: Callable[[str], HarnessAdapter]
    figures: Figures
    answer: Callable[[Sequence[DefinitionKey]], object] = lambda _definitions: None
    """Says that the doorbell of these definitions was heard (S16)."""
    dispatch: Callable[[], float] | None = None
    """Sends what waits in the outbox; gives the seconds until its next look (S20)."""
    executors: OwnExecutors | None = None
    """What runs tools beside this process's Turns or brings their updates (R174)."""
    receive: Callable[[str], str] | None = None
    """Takes an update in that one of the executors brought."""


class BrainProcess:
    """One per operating system process. Making it starts it; nothing of it may cross a fork."""

    def __init__(self, parts: Parts) -> None:
        """Start the threads. Claims begin once the presence lock and the Host row stand (S4).

        Raises what an executor raises that can never start.
        """
        figures = parts.figures
        if parts.executors is not None:
            parts.executors.start()  # first: one that cannot start leaves nothing to be ended
        self.pid = os.getpid()
        self.host = identity(parts)
        self._parts = parts
        self._backend = parts.backend(self.host.build)
        self._loop = EventLoop()
        self._database = Database(figures.database_threads)
        self._leases = Leases(figures.lease)
        self._presence = presence(figures.state_dir)
        self._scheduler = Scheduler(self._backend, self._database, self.host, self._leases)
        self._renewals = Renewals(
            self._leases,
            lambda held: self._backend.renew(self.host.host_id, held),
            Pulse(self._loop, figures.frozen),
            period=figures.renew,
        )
        self._scanner = Scanner(self._backend, self.host, self.look, period=figures.scan)
        self._watch = Watch(
            self._backend,
            self._presence,
            self.host,
            News(
                taken=self._present,
                freed=self.look,
                told=self._begin_to_drain,
                lost=lambda: self._leases.stop_all("lost"),
            ),
            period=figures.sweep,
        )
        self._dispatching = Ticking("dispatch", parts.dispatch) if parts.dispatch else None
        self._begun = False
        if parts.executors is not None:
            parts.executors.bind(self._receive)
        self._watch.start()

    def advance(self, thread_pk: str) -> None:
        """Look at this Thread first and run what is ready; returns when that work is done."""
        self._parts.answer((*self.host.definitions, *self._parts.agents.resolved()))
        try:
            self._loop.call(self._scheduler.advance(thread_pk))
        except CancelledError:
            log.info("the process ended while a Turn ran; its lease says how it goes on")

    def scan(self) -> None:
        """Record one scan on behalf of beat, then look."""
        if self._scheduler.drains:
            return
        try:
            self._database.submit(self._backend.scan, self.host, own=False).result()
        except Unavailable as error:
            log.info("no scan: %s", error)
        self.look()

    def work(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do a piece of database work where this process does all of it (S21, S22)."""
        return self._database.submit(what, *args, **kwargs).result()

    def look(self) -> None:
        """Have the free slots filled; returns at once."""
        self._loop.submit(self._scheduler.look()).add_done_callback(_note_failure)

    def send_due(self) -> None:
        """Have the outbox looked at; returns at once."""
        if self._dispatching is not None:
            self._dispatching.now()

    def drain(self, seconds: float | None = None) -> bool:
        """Claim nothing more and hand over (S24). False: local effects are still in flight."""
        limit = self._parts.figures.drain if seconds is None else seconds
        if self._parts.executors is not None:
            self._parts.executors.drain()
        try:
            return self._loop.call(self._scheduler.drain(limit), limit + _PATIENCE)
        except TimeoutError:
            log.critical("the loop does not answer; leases are left to expire")
            return False

    def close(self) -> None:
        """End: scanning, executors, Host row, watch, renewals, loop, database, presence, in order.

        While a local effect is in flight its lease and the presence lock are kept until the
        process itself ends.
        """
        self._scanner.close()
        if self._dispatching is not None:
            self._dispatching.close()
        if self._parts.executors is not None:
            self._parts.executors.close()
        if not self.drain(0):
            log.warning("local effects are still in flight; their leases end with this process")
            return
        self._watch.close()
        self._leave()
        self._renewals.close()
        self._loop.close()
        self._database.close()
        self._presence.close()

    def _begin_to_drain(self) -> None:
        """An operator's wish, read from the Host row; the process itself goes on."""
        self._loop.submit(self._scheduler.drain(self._parts.figures.drain))

    def _receive(self, envelope: str) -> str:
        assert self._parts.receive is not None  # noqa: S101 - given with the executors
        return self.work(self._parts.receive, envelope)

    def _present(self) -> None:
        """The lock was taken and the Host row written, for the first time or again."""
        self._renewals.now()
        if self._begun:
            return
        self._begun = True
        self._loop.call(self._open())
        self._renewals.start()
        self._scanner.start()
        if self._dispatching is not None:
            self._dispatching.start()
        log.info("%s runs %s", self.host.host_id, ", ".join(map(str, self.host.definitions)))

    async def _open(self) -> None:
        driver = Driver(
            backend=self._backend,
            database=self._database,
            definition=self._definition,
            adapter=self._parts.adapter,
            drains=lambda: self._scheduler.drains,
        )
        self._scheduler.open(driver, self._parts.figures.slots)

    async def _definition(self, key: DefinitionKey) -> AgentDefinition:
        """Find a definition; a resolver may read a database, so it is asked off the loop."""
        if key in self.host.definitions:
            return self._parts.agents.get(key)
        return await self._database(self._parts.agents.get, key)

    def _leave(self) -> None:
        try:
            self._database.submit(self._backend.leave, self.host.host_id).result(_LEAVE_SECONDS)
        except (Unavailable, TimeoutError):
            log.info("left without a word: storage is away; the presence lock says it too")


def _note_failure(look: Future[asyncio.Task[None] | None]) -> None:
    """Nobody waits for a look that a thread asked for, so its error is told here."""
    if not look.cancelled() and (error := look.exception()) is not None:
        log.error("a look for work failed: %s", trace(error))
