"""Commands and a ledger that the tests of Hands share, and the wait for a condition."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from hands_app.contract.binding import BatchMode, BatchPolicy, EffectClass, ToolBinding
from hands_app.contract.ids import new_id
from hands_app.contract.messages import (
    Cancel,
    Execute,
    ExecutionResult,
    ExecutionState,
    Origin,
    Query,
)
from hands_app.contract.reconciling import Reconciliation, verified
from hands_app.ledger.clock import database_now
from hands_app.ledger.commands import SqlCommands
from hands_app.ledger.hosts import SqlHosts
from hands_app.ledger.orphans import SqlOrphans
from hands_app.ledger.outbox import SqlOutbox
from hands_app.ledger.tables import execution
from hands_app.ledger.work import SqlWork
from hands_app.machine.execution import Execution
from hands_app.worker.ports import HostCard, HostProfile

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from hands_app.contract.messages import Update
    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database
    from hands_app.machine.admission import Admission
    from hands_app.worker.ports import Claim

DONE = ExecutionResult(state=ExecutionState.COMPLETED, content="done")
SENT = verified("COMPLETED", content={"sent": "hello"})
ROUTES = ("hands",)


class Clock:
    """The database's clock, which a test may set forward."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self, connection: Connection) -> datetime:
        """Return the time of the database, as far ahead as the test wants it."""
        return database_now(connection) + self.ahead


class Ledger:
    """All that can be done to one ledger, by the host `host_id`, at the time of `clock`."""

    def __init__(self, database: Database) -> None:
        self.clock = Clock()
        database.clock = self.clock
        self.database = database
        self.commands = SqlCommands(database)
        self.work = SqlWork(database)
        self.orphans = SqlOrphans(database)
        self.outbox = SqlOutbox(database)
        self.hosts = SqlHosts(database)
        self.host_id = self.enroll()

    def enroll(self) -> str:
        """Enroll another host."""
        host_id = new_id("host_")
        self.hosts.enroll(HostCard(host_id, HostProfile("work", ROUTES, 4), 1, "none"))
        return host_id

    def admit(self, command: Execute) -> Admission:
        """Admit a command."""
        return self.commands.admit(command, runnable=True).outcome

    def claim(self, *commands: Execute, host_id: str = "") -> list[Claim]:
        """Claim what is due of the tools of these commands."""
        digests = [command.binding.digest for command in commands]
        return self.work.claim(host_id or self.host_id, ROUTES, digests, 10)

    def started(self, command: Execute) -> Claim:
        """Admit, claim and start a command."""
        self.admit(command)
        (claim,) = self.claim(command)
        assert isinstance(self.work.start(claim).outcome, Execution)
        return claim

    def updates(self, command: Execute) -> list[Update]:
        """Return everything that was told of a command."""
        return list(self.commands.query(query(command)))

    def kinds(self, command: Execute) -> list[str]:
        """Name everything that was told of a command."""
        return [update.kind.value for update in self.updates(command)]

    def state(self, command: Execute) -> str:
        """Return where a command's execution stands."""
        with self.database.read() as connection:
            row = select(execution.c.state).where(execution.c.execution_id == command.execution_id)
            return str(connection.execute(row).scalar_one())

    def settle_orphans(self, *, in_gap: bool = False) -> int:
        """Sweep once, as a process in which nothing runs."""
        found = self.orphans.find(100, in_gap=in_gap)
        return sum(self.orphans.settle(each, [], in_gap=in_gap).outcome for each in found)


def binding(effect: EffectClass = EffectClass.ONCE, name: str = "send") -> ToolBinding:
    """Make a binding on the route `hands`."""
    return ToolBinding(name=name, parameters={"type": "object"}, route="hands", effect=effect)


def execute(
    tool: ToolBinding | None = None,
    arguments: dict[str, JsonValue] | None = None,
    *,
    minutes: float = 10,
    execution_id: str | None = None,
) -> Execute:
    """Make a command that may start for some minutes from now."""
    return Execute.of(
        execution_id=execution_id or new_id("exe_"),
        binding=tool or binding(),
        arguments=arguments or {},
        origin=Origin(
            namespace="durable", session_id="s", thread_id="main", turn_id=new_id("turn_")
        ),
        not_after=datetime.now(UTC) + timedelta(minutes=minutes),
    )


def cancel(command: Execute) -> Cancel:
    """Make the cancel of a command."""
    return Cancel(
        command_id=new_id("cmd_"),
        namespace="durable",
        execution_id=command.execution_id,
        request_digest=command.request_digest,
        route=command.route,
    )


def query(command: Execute, after: int = 0) -> Query:
    """Make the query for a command."""
    return Query(
        command_id=new_id("cmd_"),
        namespace="durable",
        execution_id=command.execution_id,
        request_digest=command.request_digest,
        route=command.route,
        after=after,
    )


def evidence(command: Execute, result: ExecutionResult = SENT, **others: Any) -> Reconciliation:
    """What an operator brings for this execution."""
    given = {
        "request_id": "ops-1",
        "execution_id": command.execution_id,
        "expected": "UNKNOWN",
        "result": result,
        "evidence": "provider log 4711",
        "operator": "ada",
        **others,
    }
    return Reconciliation(**given)


def until(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Return once the condition holds; fail with its name when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            message = f"not in {seconds} s: {what}"
            raise AssertionError(message)
        threading.Event().wait(0.02)


def batch_of(tool: ToolBinding) -> ToolBinding:
    """Make a parallel batch of one tool."""
    policy = BatchPolicy(mode=BatchMode.PARALLEL, bound=2, tools=(tool,))
    return ToolBinding(name="many", parameters={}, route=tool.route, batch=policy)
