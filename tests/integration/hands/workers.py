"""Real Hands workers in processes of their own, on the folder broker of a private state folder.

A pool may have Redis instead.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kombu import Exchange, Queue
from sqlalchemy import select

from hands_app.contract.messages import parse_update
from hands_app.contract.wire import encode
from hands_app.ledger.hosts import SqlHosts
from hands_app.ledger.tables import execution
from hands_app.transports.app import make_app
from hands_app.worker.configuration import Configuration
from tests.integration.hands.examples import until
from tests.integration.hands.oracle_tools import effects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.messages import Cancel, Execute, Query, Update
    from hands_app.ledger.engine import Database
    from hands_app.worker.ports import HostView

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Pool:
    """A pool of workers: its broker, its ledger, its oracle."""

    state_dir: Path
    ledger_url: str
    database: Database
    redis_url: str = ""

    def __post_init__(self) -> None:
        self.app = make_app(Configuration(self.state_dir, self.ledger_url, self.redis_url))
        self.oracle = self.state_dir / "oracle"
        self.signal_file = self.state_dir / "signals"
        # A successor that starts slowly meets a gap of scans and waits for one renewal (S4).
        self.environment = {"DURABLE_RENEW_SECONDS": "1"}
        self.told: list[Update] = []

    def send(self, command: Execute | Cancel | Query) -> None:
        """Send a command by the queue of its kind."""
        is_work = command.kind == "execute"
        self.app.send_task(
            "hands_app.execute" if is_work else "hands_app.control",
            args=[encode(command)],
            queue=f"durable.hands.{'commands' if is_work else 'controls'}",
        )

    @contextmanager
    def worker(
        self, faults: str = "", *, queue: str = "commands", pool: str = "threads"
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a worker for the length of a block; its output goes into the state folder."""
        command = [sys.executable, "-m", "celery", "-A", "hands_app.celery", "worker"]
        command += ["-Q", f"durable.hands.{queue}", "--pool", pool, "-c", "2", "-l", "INFO"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        with (self.state_dir / f"worker-{queue}.log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment(faults), stdout=log, stderr=log
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(5)

    def _environment(self, faults: str) -> dict[str, str]:
        ours = {
            "DURABLE_STATE_DIR": str(self.state_dir),
            "HANDS_DATABASE_URL": self.ledger_url,
            "REDIS_URL": self.redis_url,
            "DURABLE_HANDS_TOOLS": "tests.integration.hands.oracle_tools",
            "DURABLE_DRAIN_SECONDS": "5",
            "DURABLE_FAULTS": faults,
            "ORACLE": str(self.oracle),
            **self.environment,
        }
        return {**os.environ, **ours}

    def state(self, command: Execute) -> str:
        """Return where a command's execution stands, or nothing."""
        with self.database.read() as connection:
            row = select(execution.c.state).where(execution.c.execution_id == command.execution_id)
            return str(connection.execute(row).scalar_one_or_none() or "")

    def host_of(self, command: Execute) -> HostView:
        """Return the living host that has a command's execution."""
        mine = execution.c.execution_id == command.execution_id
        with self.database.read() as connection:
            host_id = connection.execute(select(execution.c.host_id).where(mine)).scalar_one()
        return next(each for each in SqlHosts(self.database).living() if each.host_id == host_id)

    def hosts(self) -> set[str]:
        """Return the ids of the living hosts."""
        return {each.host_id for each in SqlHosts(self.database).living()}

    def wait_for(self, command: Execute, state: str) -> None:
        """Wait until a command's execution stands at a state."""
        try:
            until(lambda: self.state(command) == state, state, 45)
        except AssertionError as error:
            error.add_note(f"it is {self.state(command)}")
            raise

    def wait_for_signals(self, count: int = 1) -> None:
        """Wait until so many fault points have left their signal."""
        until(lambda: len(effects(self.signal_file)) >= count, f"{count} signals", 45)

    def effects_of(self, command: Execute) -> int:
        """Count the effects of a command."""
        return sum(line.endswith(command.execution_id) for line in effects(self.oracle))

    def kinds(self, command: Execute) -> list[str]:
        """Name what has come for the Brain about a command, each sequence once, in order."""
        self._collect()
        mine = {u.sequence: u for u in self.told if u.execution_id == command.execution_id}
        return [mine[number].kind.value for number in sorted(mine)]

    def has_told_all(self, command: Execute) -> bool:
        """Whether every update that the ledger has of a command has come, without a gap."""
        self._collect()
        came = {u.sequence for u in self.told if u.execution_id == command.execution_id}
        with self.database.read() as connection:
            row = select(execution.c.last_sequence).where(
                execution.c.execution_id == command.execution_id
            )
            return came == set(range(1, connection.execute(row).scalar_one() + 1))

    def _collect(self) -> None:
        # One message a look: a consumer that is closed loses what it has fetched ahead.
        with self.app.connection_for_read() as connection:
            queue = Queue("durable.updates", Exchange("durable.updates"), "durable.updates")
            queue = queue(connection.default_channel)
            queue.declare()
            while (message := queue.get(no_ack=True)) is not None:
                self.told.append(parse_update(message.payload[0][0]))
