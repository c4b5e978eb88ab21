"""The workers of a test: where the forge is asked for them, and what may be done to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from durable_site.embedded.roles import CHECKOUT
from tests.acceptance.processes import read_line
from tests.chaos.field import until
from tests.chaos.hands.ledger import nobody_locks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hands_app.ledger.engine import Database

_TETHER: Final = str(CHECKOUT / "durable_site" / "embedded" / "tether.py")
_GRACE: Final = 15.0


class Forge:
    """The process that workers are forked from; it dies with the thread that made it."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        """`env` holds for the process itself, from its beginning."""
        command = (sys.executable, "-S", "-E", _TETHER, str(os.getpid()), sys.executable)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            (*command, "-m", "tests.chaos.hands.forge"),
            cwd=CHECKOUT,
            env={**os.environ, **(env or {})},
            stdin=pipe,
            stdout=pipe,
        )

    def ask(self, **what: Any) -> Any:
        """Have it do one thing and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(what)}\n".encode())
        self._process.stdin.flush()
        return json.loads(read_line(self._process, 60))

    def close(self) -> None:
        """End it, and with it every worker that is left."""
        self._process.communicate(timeout=_GRACE)


@dataclass
class Worker:
    """One worker, by its process id."""

    forge: Forge
    pid: int
    log: Path
    status: int | None = None

    def ended(self) -> int | None:
        """Return how it ended, as subprocess does; None while it lives."""
        if self.status is None:
            self.status = self.forge.ask(pid=self.pid)
        return self.status

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.ended() is None:
            os.kill(self.pid, number)

    def wait(self, seconds: float = _GRACE) -> int:
        """Wait for its end and return how it came."""
        until(lambda: self.ended() is not None, seconds)
        assert self.status is not None
        return self.status

    def stop(self, ledger: Database) -> None:
        """Stop it at a moment at which it holds no lock of the ledger."""
        until(lambda: self._is_stopped(ledger))

    def _is_stopped(self, ledger: Database) -> bool:
        self.signal(signal.SIGSTOP)
        free = nobody_locks(ledger)
        if not free:
            self.signal(signal.SIGCONT)
        return free

    def wake(self) -> None:
        """Let it go on."""
        self.signal(signal.SIGCONT)

    def said(self) -> str:
        """Return what it printed so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def kill(self) -> None:
        """End it at once."""
        self.signal(signal.SIGKILL)
        self.wait()


@dataclass
class Workers:
    """Starts workers over one ledger and broker, and ends them with the test."""

    forge: Forge
    folder: Path
    env: Mapping[str, str]
    all: list[Worker] = field(default_factory=list)

    def start(
        self,
        *queues: str,
        faults: Mapping[str, str] | None = None,
        only_after: str | None = None,
        pool: str = "threads",
        slots: int = 4,
        ahead: timedelta = timedelta(0),
        env: Mapping[str, str] | None = None,
    ) -> Worker:
        """Start a worker of these queues, like `once.commands`; it may take a moment to be up."""
        log = self.folder / f"hands-{len(self.all)}.log"
        given = {**os.environ, **self.env, **(env or {})}
        given.pop("DJANGO_SETTINGS_MODULE", None)  # Celery would load all of Django for it
        pid = self.forge.ask(
            env=given,
            queues=[f"durable.{queue}" for queue in queues],
            faults=dict(faults or {}),
            only_after=only_after,
            pool=pool,
            slots=slots,
            ahead=ahead.total_seconds(),
            log=str(log),
        )
        worker = Worker(self.forge, pid, log)
        self.all.append(worker)
        return worker

    def ready(self, workers: Iterable[Worker]) -> None:
        """Wait until each of these takes messages from its broker."""
        for worker in workers:
            until(partial(self._is_ready, worker))

    def _is_ready(self, worker: Worker) -> bool:
        assert worker.ended() is None, worker.said()[-4000:]
        return "ready." in worker.said()

    def close(self) -> None:
        """End every worker, politely first."""
        for number in (signal.SIGCONT, signal.SIGTERM):
            for worker in self.all:
                with suppress(ProcessLookupError):
                    worker.signal(number)
        for worker in self.all:
            try:
                worker.wait()
            except AssertionError:
                worker.kill()
