"""The Hands house without a broker: its real ledger, gate and worker, driven by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.ids import new_id
from hands_app.contract.tools import Tool, ToolContext, ToolError, tool
from hands_app.executors.callable import CallableExecutor
from hands_app.ledger import tables
from hands_app.ledger.commands import SqlCommands
from hands_app.ledger.hosts import SqlHosts
from hands_app.ledger.orphans import SqlOrphans
from hands_app.ledger.outbox import SqlOutbox
from hands_app.ledger.work import SqlWork
from hands_app.worker.attempt import Attempts
from hands_app.worker.bodies import Bodies
from hands_app.worker.gate import Gate, same_house
from hands_app.worker.live import LiveClaims
from hands_app.worker.ports import Claim, HostCard, HostProfile

if TYPE_CHECKING:
    from hands_app.contract.messages import ExecutionResult, Update
    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database

HOUSE = "house"
"""The deployment, which is not the tenant that a Session belongs to."""
ROUTE = "hands"

effects: list[str] = []
"""Execution keys, one for each time that a tool ran."""


@tool(route=ROUTE, effect="once")
def send(text: str, context: ToolContext) -> dict[str, str]:
    """Send a text."""
    effects.append(context.execution_key)
    context.progress("on its way", fraction=0.5)
    return {"sent": text}


@tool(route=ROUTE, effect="once")
def fail(text: str) -> str:
    """Fail as tools declare it."""
    raise ToolError(text, code="NO_PAPER", metadata={"tray": 2})


@tool(route=ROUTE, effect="once")
def talk(text: str, context: ToolContext) -> str:
    """Write a text as output."""
    context.output(text)
    return "said"


TOOLS = Catalogue([send, fail, talk])


@dataclass
class Pool:
    """One pool with one host; `told` are the updates that wait to be carried to the Brain."""

    database: Database
    told: list[Update] = field(default_factory=list)
    tools: Catalogue = TOOLS
    bodies: Bodies = field(default_factory=lambda: Bodies(None))
    host_id: str = field(default_factory=lambda: new_id("host_"))

    def __post_init__(self) -> None:
        """Assemble as a host does."""
        self.work = SqlWork(self.database)
        self._executor = CallableExecutor()
        self._hosts = SqlHosts(self.database)
        self._hosts.enroll(HostCard(self.host_id, HostProfile("work", (ROUTE,), 4), 1, "none"))
        self._attempts = Attempts(
            self.work, self._executor, LiveClaims(), tell=self.told.extend, bodies=self.bodies
        )
        self._gate = Gate(
            SqlCommands(self.database),
            same_house(HOUSE, (ROUTE,)),
            self.tools,
            tell=self.told.extend,
            wake=lambda: None,
            bodies=self.bodies,
        )

    def obey(self, envelope: str, *, control: bool = False) -> str:
        """Take a command in as the tasks of the pool do; says what became of it."""
        return str(self._gate.control(envelope) if control else self._gate.execute(envelope))

    def claim(self) -> list[Claim]:
        """Claim what is due."""
        return self.work.claim(self.host_id, (ROUTE,), self.tools.digests(), 10)

    def run(self) -> None:
        """Carry everything that is due to its end."""
        for claim in self.claim():
            found = self.tools.find(claim.binding.digest)
            assert found is not None
            self._attempts.perform(claim, found)

    def start(self) -> Claim:
        """Claim one and write its start record; the tool is not run."""
        (claim,) = self.claim()
        self.told.extend(self.work.start(claim).updates)
        return claim

    def progress(self, claim: Claim, payload: dict[str, JsonValue]) -> None:
        """Tell of a sign of life."""
        self.told.extend(self.work.progress(claim, payload).updates)

    def finish(self, claim: Claim, result: ExecutionResult) -> None:
        """Record how the attempt ended."""
        self.told.extend(self.work.finish(claim, result).updates)

    def die(self, claim: Claim) -> None:
        """Do what a sweep does about a worker that died."""
        self._hosts.mark_lost([self.host_id])
        told = SqlOrphans(self.database).settle(claim.execution_id, (), in_gap=False)
        self.told.extend(told.updates)

    def publish(self) -> None:
        """Do what a courier does about updates that nobody told: those of an operator's record."""
        outbox = SqlOutbox(self.database)
        told = [(each.execution_id, each.sequence) for each in self.told]
        waiting = outbox.unpublished(100, older_than=timedelta(0))
        self.told.extend(u for u in waiting if (u.execution_id, u.sequence) not in told)
        self.told.sort(key=lambda update: (update.execution_id, update.sequence))
        outbox.mark_published(self.told)

    def forget(self) -> None:
        """Lose the ledger, as a restore from an older copy would."""
        with self.database.engine.begin() as connection:
            connection.execute(delete(tables.event))
            connection.execute(delete(tables.execution))

    def close(self) -> None:
        """End the tools' loop."""
        self._executor.close()
        self._executor._loop.close()


def find(name: str) -> Tool:
    """The tool of this name."""
    (found,) = TOOLS.named(name)
    return found
