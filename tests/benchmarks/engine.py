"""What a workload asks of an engine, ours or a peer's: submit, wait, signal, worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.benchmarks import effects

CHECKOUT: Final = Path(__file__).resolve().parents[2]
SUBMITTERS: Final = 8
"""Threads of the one client process that submit a backlog."""
_TETHER: Final = CHECKOUT / "durable_site" / "embedded" / "tether.py"
_WARM_UP: Final = 5

Handle = Any
"""Whatever an engine needs to find a submitted Turn again."""


class Engine(ABC):
    """One client and its worker processes. Kinds of Turns: turn, long, slow, signal."""

    settle_seconds = 2.0
    """How long its workers take to start, for an engine that does not tell."""

    def __init__(self, name: str, mode: str) -> None:
        """`mode` names the settings that it runs with."""
        self.name = name
        self.mode = mode
        self.processes: list[subprocess.Popen[bytes]] = []

    def setup(self) -> None:  # noqa: B027 - most have nothing to do here
        """Make schemas and queues, once."""

    def clean(self) -> None:  # noqa: B027 - as above
        """Forget finished work, before each round."""

    @abstractmethod
    def worker(self) -> None:
        """Be a worker process, until killed."""

    @abstractmethod
    def open(self) -> None:
        """Connect the client."""

    @abstractmethod
    def submit(self, kind: str, key: str) -> Handle:
        """Submit one Turn."""

    @abstractmethod
    def wait(self, handle: Handle) -> None:
        """Wait for its end, in the way that the engine offers."""

    def signal(self, handle: Handle, key: str) -> None:
        """Deliver the event that a `signal` Turn waits for."""
        msg = f"{self.name} has no signals, so {handle} waits for no {key}"
        raise AssertionError(msg)  # W5 is asked only of engines that have them

    def await_waiting(self, handle: Handle, key: str) -> None:
        """Return when a `signal` Turn waits for its event; most can say so themselves."""
        del handle
        effects.until("waiting", key)

    def prepare(self, count: int) -> None:  # noqa: B027 - as above
        """Make what stands before work is submitted to it."""

    def submit_many(self, kind: str, count: int) -> list[Handle]:
        """Submit a backlog."""
        stamp = time.time_ns()
        with ThreadPoolExecutor(SUBMITTERS) as pool:
            return list(pool.map(lambda n: self.submit(kind, f"{kind}-{n}-{stamp}"), range(count)))

    def wait_all(self, handles: list[Handle]) -> None:
        """Wait until a backlog is done."""
        for handle in handles:
            self.wait(handle)

    def inside(self) -> dict[str, float]:
        """Figures that an engine takes from its own records of the Turns since `prepare`."""
        return {}

    def warm_up(self) -> None:
        """Run a few Turns, so that caches are filled and connections made."""
        self.prepare(_WARM_UP)
        for number in range(_WARM_UP):
            self.wait(self.submit("turn", f"warm-{number}-{time.time_ns()}"))

    # --- worker processes ---

    def commands(self) -> list[tuple[str, ...]]:
        """What makes up one worker: the commands of its processes."""
        driver = ("-m", "tests.benchmarks.driver", self.name, "worker", "--mode", self.mode)
        return [(sys.executable, *driver)]

    def start(self, workers: int) -> None:
        """Start so many workers and return when they take work."""
        if workers:
            self.processes += [self._spawn(each) for each in self.commands() * workers]
            self.wait_ready(workers)

    def wait_ready(self, workers: int) -> None:
        """Wait for what was just started."""
        del workers
        time.sleep(self.settle_seconds)  # what a peer offers no sign of; outside the figures

    def owner(self, pid: int) -> subprocess.Popen[bytes]:
        """The worker that a measured process belongs to."""
        group = os.getpgid(pid)
        return next(process for process in self.processes if process.pid == group)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a worker and all that it started, as a crash would."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all workers at once; what they leave behind is the next round's matter."""
        for process in self.processes:
            self.kill(process)
        self.processes.clear()

    def _spawn(self, command: tuple[str, ...]) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own that dies with this one."""
        tether = (sys.executable, "-S", "-E", str(_TETHER), str(os.getpid()))
        with (effects.folder() / "workers.log").open("ab") as log:
            return subprocess.Popen(
                (*tether, *command),
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
