"""How an invocation writes: a buffer, and commits in order, each repeated until it is answered.

A commit has its id before it is sent: a lost answer is asked about and never guessed (S7). A busy
or absent database is waited for on the loop, never in a database thread (S15), and charges nothing.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from hands_app.contract.ids import new_id
from sessions_app.brain.failure import Interrupted
from sessions_app.contract.backend import Commit, Committed, Go, Lost, Stale
from sessions_app.contract.errors import OwnershipLost, Unavailable
from sessions_app.contract.status import EntryKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sessions_app.brain.database import Database
    from sessions_app.brain.lease import Held
    from sessions_app.contract.backend import (
        End,
        EntryDraft,
        FrameDraft,
        IntentDraft,
        MessageDraft,
        ModelCallFacts,
        ResultDraft,
    )
    from sessions_app.ports import SessionBackend

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0


@dataclass(slots=True)
class Buffer:
    """What the next commit will say."""

    entries: list[EntryDraft] = field(default_factory=list)
    frame: FrameDraft | None = None
    model_calls: list[ModelCallFacts] = field(default_factory=list)
    messages: list[MessageDraft] = field(default_factory=list)
    intents: list[IntentDraft] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    results: list[ResultDraft] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    inputs_applied: list[str] = field(default_factory=list)

    def say(self, message: MessageDraft) -> None:
        """One draft for each logical message: what was not told yet is replaced."""
        self.messages = [said for said in self.messages if said.ordinal != message.ordinal]
        self.messages.append(message)

    @property
    def outcomes(self) -> list[EntryDraft]:
        """Completed model outcomes: kept whatever else becomes of the invocation (law 6)."""
        return [entry for entry in self.entries if entry.kind is EntryKind.OUTCOME]

    @property
    def holds_facts(self) -> bool:
        """True when something is in it that has to stand before the next request leaves (S12)."""
        return bool(self.outcomes or self.intents or self.results or self.inputs_applied)

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to say."""
        return self == Buffer()

    def commit(self, end: End) -> Commit:
        """The change that says all this."""
        return Commit(
            change_id=new_id("chg_"),
            entries=tuple(self.entries),
            frame=self.frame,
            model_calls=tuple(self.model_calls),
            messages=tuple(self.messages),
            intents=tuple(self.intents),
            starts=tuple(self.starts),
            results=tuple(self.results),
            applied=tuple(self.applied),
            inputs_applied=tuple(self.inputs_applied),
            end=end,
        )

    def take_back(self, sent: Buffer) -> None:
        """Put the facts of a change that was not written before what was added since."""
        facts = sent.rescued()
        self.entries[:0] = facts.entries
        self.model_calls[:0] = facts.model_calls
        self.results[:0] = facts.results

    def rescued(self) -> Buffer:
        """What of it is a fact even when the invocation failed: outcomes, observations, results."""
        return Buffer(entries=self.outcomes, model_calls=self.model_calls, results=self.results)


class Commits:
    """Sends one commit at a time. Cancelling whoever waits for it does not stop a commit."""

    def __init__(
        self,
        backend: SessionBackend,
        database: Database,
        held: Held,
        absorb: Callable[[Commit, Committed], object],
    ) -> None:
        """`absorb` is told of each commit that stands, before anybody else goes on."""
        self.buffer = Buffer()
        self._backend = backend
        self._database = database
        self._held = held
        self._absorb = absorb
        self._turn = asyncio.Lock()
        self._sending: set[asyncio.Task[Committed | None]] = set()

    async def send(self, end: Callable[[Buffer], End]) -> Committed | None:
        """Send the buffer; None when there is nothing to say. `end` sees what will be sent."""
        task = asyncio.create_task(self._send(end))
        self._sending.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def _send(self, decide: Callable[[Buffer], End]) -> Committed | None:
        async with self._turn:
            self._held.check()
            end = decide(self.buffer)
            if self.buffer.is_empty and isinstance(end, Go) and end.phase is None:
                return None
            change, sent = self.buffer.commit(end), self.buffer
            self.buffer = Buffer()
            commit = partial(self._database, self._backend.commit, self._held.claim, change)
            match await patiently(self._held, commit):
                case Committed() as answer:
                    self._absorb(change, answer)
                    return answer
                case Stale():
                    self.buffer.take_back(sent)
                    raise Interrupted(why="withdrawn")
                case Lost(reason=reason):
                    self._held.stop("lost")
                    raise OwnershipLost(reason)

    def _ended(self, task: asyncio.Task[Committed | None]) -> None:
        """Look at the error even when nobody waits any more."""
        self._sending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.debug("a commit did not stand: %s", type(task.exception()).__name__)


async def patiently(held: Held, work: Callable[[], Awaitable[T]]) -> T:
    """Do database work of an owner until it is answered.

    Gives up, as lost, one lease after the lease ran out: until then nobody was able to take over
    without our hearing of it at the first answer.
    """
    pause = FIRST_PAUSE
    while True:
        try:
            return await work()
        except Unavailable:
            if held.is_beyond_hope():
                held.stop("lost")
        except OwnershipLost:
            held.stop("lost")
        held.check()
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
