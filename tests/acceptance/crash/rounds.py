"""One round: a Turn runs, its Brain is killed at the named place, a standby carries it on."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from durable_site.demo import oracle
from durable_site.demo.provider import ScriptedProvider
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Event, Host, ModelCall, Run, ToolCall, Turn
from sessions_app.store.invariants import check
from tests.acceptance.crash.agents import PROVIDER, script
from tests.integration.brain.brains import until
from tests.integration.brain.farm import Farm

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.stores import Store

MODEL_CALL: Final = "in a model call"
LOCAL_TOOL: Final = "in a local tool"
ONCE_TOOL: Final = "in a local tool of class once"
OUTCOME: Final = "between outcome and application"
IN_HAND: Final = "with the last outcome in hand"  # received, and stored nowhere yet
LAST_OUTCOME: Final = "after the last outcome"  # which is stored together with the result
PLACES: Final = (MODEL_CALL, LOCAL_TOOL, ONCE_TOOL, OUTCOME, IN_HAND, LAST_OUTCOME)
LOSES_A_REQUEST: Final = frozenset({MODEL_CALL, IN_HAND})
POINTS: Final = {
    LOCAL_TOOL: "brain.tool.after_effect",
    ONCE_TOOL: "brain.tool.after_effect",
    OUTCOME: "brain.outcome.after_commit",
    IN_HAND: "brain.finish.before_commit",
    LAST_OUTCOME: "brain.finish.after_commit",
}
PATIENCE: Final = 60.0


@dataclass
class Crashes:
    """A provider, two Brains over the test's database, and a kill in every round."""

    store: Store
    folder: Path
    place: str
    provider: ScriptedProvider = field(init=False)
    farm: Farm = field(init=False)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    rounds: int = 0
    recovered: list[float] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Start the provider and both Brains; the second is the standby, started ahead."""
        self.provider = ScriptedProvider(script=script)
        self.provider.__enter__()
        environment = {
            "DJANGO_SETTINGS_MODULE": "tests.acceptance.crash.settings",
            PROVIDER: self.provider.base_url,
            "DURABLE_DEMO_ORACLE": str(self.folder / "effects"),
            "DURABLE_FAULTS": self._plan(),
        }
        self.farm = Farm(self.store, self.folder, environment)
        self.workers = [self._worker(), self._worker()]
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self.farm.site.close()
        self.provider.__exit__()

    def round(self) -> Turn:
        """Run one Turn through one death and hold it against everything that must be true."""
        self.rounds += 1
        asked = self._requests()
        effects = len(oracle.effects(self.folder / "effects"))
        if self.place == MODEL_CALL:
            self.provider.held.clear()
            self.provider.hold = asked + 2
        tool = "mark_once" if self.place == ONCE_TOOL else "mark"
        turn_id = self.farm.submit(f"{tool} now", f"round-{self.rounds}")
        died = self._death(turn_id)
        turn = self._settled(turn_id)
        if self.place != LAST_OUTCOME:
            self.recovered.append(self._next_progress(turn_id) - died)
        self._judge(turn, self._requests() - asked, effects)
        self._replace_the_dead()
        return turn

    def verdict(self) -> None:
        """The whole database keeps every invariant."""
        report = check(oracle=None)
        assert not report.breaches, report.breaches[:5]

    def _plan(self) -> str:
        if self.place not in POINTS:
            return ""
        return f"{POINTS[self.place]}=kill-once:{self._mark}"

    @property
    def _mark(self) -> Path:
        return self.folder / "killed"

    def _worker(self) -> subprocess.Popen[bytes]:
        return self.farm.worker("threads", "-n", f"brain-{time.monotonic_ns()}@here", "-c", "2")

    def _death(self, turn_id: str) -> float:
        """Wait for the kill that the signal times; give its moment."""
        if self.place == MODEL_CALL:
            assert self.provider.held.wait(PATIENCE)
            pid = self._owner(turn_id)
            died = time.time()
            os.kill(pid, signal.SIGKILL)
            return died
        until(self._mark.exists, PATIENCE)
        return self._mark.stat().st_mtime

    def _owner(self, turn_id: str) -> int:
        run = Run.objects.get(turn=turn_id, status="OPEN")
        return Host.objects.get(pk=run.host).pid

    def _settled(self, turn_id: str) -> Turn:
        if self.place == ONCE_TOOL:
            found: Turn = until(
                lambda: Turn.objects.filter(pk=turn_id, status="WAITING").first(), PATIENCE
            )
            return found
        return self.farm.ended(turn_id, PATIENCE)

    def _next_progress(self, turn_id: str) -> float:
        """When the first fact after the death was committed, by the database's clock."""
        dead = Event.objects.filter(turn_id=turn_id, type="run.ended").earliest("sequence")
        return dead.at.timestamp()

    def _judge(self, turn: Turn, requests: int, effects: int) -> None:
        calls = list(ModelCall.objects.filter(turn=turn).values_list("status", flat=True))
        lines = oracle.effects(self.folder / "effects")[effects:]
        (call,) = ToolCall.objects.filter(turn=turn)
        assert requests == len(calls), (requests, calls)
        assert calls.count("LOST") == (1 if self.place in LOSES_A_REQUEST else 0), calls
        assert turn.takeovers == (0 if self.place == LAST_OUTCOME else 1)
        assert Event.objects.filter(turn_id=turn.pk, type="turn.admitted").count() == 1
        assert {key for _, key in lines} == {call.pk}
        if self.place == ONCE_TOOL:
            assert (turn.reason, call.state, len(lines)) == ("unknown", "UNKNOWN", 1)
            return
        assert turn.status == TurnStatus.COMPLETED
        assert calls.count("COMPLETED") == 2
        assert len(lines) == (2 if self.place == LOCAL_TOOL else 1)
        assert turn.result["parts"][0]["text"] == "Done: marked here"

    def _requests(self) -> int:
        return len(self.provider.journal.records())

    def _replace_the_dead(self) -> None:
        """Start the next standby ahead of the next round."""
        self._mark.unlink(missing_ok=True)
        living = [worker for worker in self.workers if worker.poll() is None]
        self.workers = [*living, *(self._worker() for _ in range(2 - len(living)))]
