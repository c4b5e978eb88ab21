"""Our engine: `DurableRuntime` as the client, the Procfile's commands as workers, our defaults."""

from __future__ import annotations

import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.db import connections

from sessions_app.contract.status import TurnStatus
from sessions_app.models import Host, Turn
from sessions_app.runtime import DurableRuntime
from tests.benchmarks.crew.scripts import SIGNAL
from tests.benchmarks.engine import CHECKOUT, SUBMITTERS, Engine
from tests.benchmarks.workloads import percentiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sessions_app.runtime.sessions import SessionHandle
    from sessions_app.runtime.turns import TurnHandle
    from tests.benchmarks.workloads import Figures

AGENT: Final = "bench"
PATIENCE: Final = 150.0
_LOOK: Final = 0.02  # seconds between two looks: a client of a benchmark polls as users do
_HANDS: Final = ("intake", "hands", "hands-controls")


class Durable(Engine):
    """Sessions are made ahead, as conversations are; each takes one Turn."""

    def __init__(self, name: str, mode: str) -> None:
        """Nothing is connected yet."""
        super().__init__(name, mode)
        self.sessions: deque[SessionHandle] = deque()
        self.turns: list[str] = []
        """Ids of what was submitted since the last `prepare`."""

    @property
    def own_workloads(self) -> Mapping[str, object]:
        """Workloads that only we can run."""
        from tests.benchmarks import own  # noqa: PLC0415 - it needs this module

        return own.WORKLOADS

    def worker(self) -> None:
        """Our workers are Celery's own program."""
        raise AssertionError  # nobody may start it

    def open(self) -> None:
        """Check the schema."""
        self.runtime = DurableRuntime()

    def prepare(self, count: int) -> None:
        """Make Sessions."""
        self.turns.clear()
        stamp = time.time_ns()
        with ThreadPoolExecutor(SUBMITTERS) as pool:
            self.sessions.extend(pool.map(lambda n: self._session(f"s{n}-{stamp}"), range(count)))

    def submit(self, kind: str, key: str) -> TurnHandle:
        """Submit to the next Session."""
        turn = self.sessions.popleft().submit(key, f"{kind} {key}")
        self.turns.append(turn.turn_id)
        return turn

    def signal(self, handle: TurnHandle, key: str) -> None:
        """Send the signal."""
        handle.signal(f"go-{key}", SIGNAL, "go")

    def await_waiting(self, handle: TurnHandle, key: str) -> None:
        """Look at the Turn."""
        del key
        while handle.status().status != TurnStatus.WAITING:
            time.sleep(_LOOK)  # a look at rows: nothing signals across processes

    def wait(self, handle: TurnHandle) -> None:
        """Wait as the runtime offers it; a Turn that did not complete is no measurement."""
        view = handle.wait(PATIENCE)
        assert view.status == "COMPLETED", (view.status, handle.explain())

    def wait_all(self, handles: list[TurnHandle]) -> None:
        """Look whether any Turn is left."""
        del handles
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Wait until nothing is left, and see that all since the last `prepare` completed."""
        while Turn.objects.filter(finished_at=None).exists():
            time.sleep(_LOOK)  # a look at rows: nothing signals across processes
        completed = Turn.objects.filter(pk__in=self.turns, status=TurnStatus.COMPLETED)
        assert completed.count() == len(self.turns)

    def inside(self) -> Figures:
        """From the admission to the end, as both were committed: without the client's polling."""
        rows = Turn.objects.filter(pk__in=self.turns)
        taken = seconds(rows.values_list("created_at", "finished_at"))
        return {f"inside {name}": value for name, value in percentiles(taken).items()}

    def commands(self) -> list[tuple[str, ...]]:
        """The Brain's command."""
        return [_command("brain", f"brain-{time.monotonic_ns()}")]

    def start(self, workers: int) -> None:
        """Start Brains, one beat, and in mode `hands` what carries calls out and back."""
        if not self.processes:
            others = ("beat", *(_HANDS if self.mode == "hands" else ()))
            self.processes += [self._spawn(_command(role)) for role in others]
        for _ in range(workers):
            self.processes += [self._spawn(each) for each in self.commands()]
        self.wait_ready(workers)

    def run_role(self, role: str) -> int:
        """Start one more role of the Procfile; gives its process id."""
        self.processes.append(self._spawn(_command(role)))
        return self.processes[-1].pid

    def wait_ready(self, workers: int) -> None:
        """Wait until each Brain has joined."""
        pids = {process.pid for process in self.processes}
        deadline = time.monotonic() + PATIENCE
        while Host.objects.filter(pid__in=pids, stopped_at=None, lost_at=None).count() < workers:
            assert time.monotonic() < deadline, "the workers did not join; see workers.log"
            time.sleep(_LOOK)  # a look at rows: nothing signals across processes

    def stop(self) -> None:
        """End everything."""
        super().stop()
        connections.close_all()

    def _session(self, name: str) -> SessionHandle:
        try:
            return self.runtime.create_session("bench", name, agent=AGENT)
        finally:
            connections.close_all()


def seconds(pairs: Iterable[tuple[datetime | None, datetime | None]]) -> list[float]:
    """How long it took from each first moment to its second; both have come."""
    return [(end - begin).total_seconds() for begin, end in pairs if begin and end]


def _command(role: str, name: str = "") -> tuple[str, ...]:
    """A role's line of the Procfile; `name` tells several workers of one role apart."""
    lines = (CHECKOUT / "Procfile").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f"{role}: ")).partition(": ")[2]
    own = f" -n {name}@%h" if name else ""
    programs = Path(sys.executable).parent
    return ("sh", "-c", f'PATH="{programs}:$PATH" exec {line}{own}')
