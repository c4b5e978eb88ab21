"""Brain processes inside a test: the real store, the scripted kernel, waiting without sleeping."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sessions_app import harnesses
from sessions_app.brain.process import BrainProcess, Figures, Parts
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Reply, Script, Transcript
from sessions_app.models import Turn
from sessions_app.registry import Definition, Registry
from sessions_app.store.backend import StoreBackend
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.outbox import StoreOutbox
from sessions_app.store.output import StoreQuestions
from sessions_app.tooling.dispatch import Dispatch
from sessions_app.tooling.intake import Intake
from tests.stores import AGENT, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sessions_app.ports import SessionBackend
    from sessions_app.tooling.routing import Routes

DEADLINE = 30.0
HELLO = (Reply("hello"),)


def until(condition: Callable[[], Any], seconds: float = DEADLINE) -> Any:
    """Return the first true answer of the condition; fail when the deadline comes first."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        pause.wait(0.01)
    return answer


@dataclass
class Brains:
    """Starts Brain processes over one store and ends them with the test."""

    store: Store
    state_dir: Path
    registry: Registry = field(default_factory=Registry)
    made: list[BrainProcess] = field(default_factory=list)
    backend: Callable[[str], SessionBackend] = StoreBackend
    routes: Routes | None = None

    def agent(
        self,
        replies: Sequence[Reply] | Callable[[Transcript], Reply] = HELLO,
        *tools: Any,
        send: Any = None,
        **more: Any,
    ) -> None:
        """Register the test agent."""
        self.registry.add(
            Definition(
                AGENT,
                "scripted",
                lambda _binding: Script(replies, send),
                tools,
                bindings={tool.binding.name: tool.binding for tool in tools},
                **more,
            )
        )

    def start(self, **figures: Any) -> BrainProcess:
        """Start one and wait until it may claim."""
        process = self.begin(**figures)
        until(lambda: process._begun)
        return process

    def begin(self, **figures: Any) -> BrainProcess:
        """Start one."""
        if not self.registry.keys():
            self.agent()
        given = {
            "lease": 30.0,
            "renew": 10.0,
            "scan": 0.2,
            "sweep": 0.25,
            "drain": 5.0,
            "slots": 4,
            "database_threads": 1,
            "state_dir": self.state_dir,
        }
        process = BrainProcess(
            Parts(
                backend=self.backend,
                agents=self.registry,
                adapter=harnesses.adapter,
                figures=Figures(**{**given, **figures}),
                **self._wired(),
            )
        )
        self.made.append(process)
        return process

    def _wired(self) -> dict[str, Any]:
        """Give what a process with executors of its own has more."""
        if self.routes is None:
            return {}
        return {
            "dispatch": Dispatch(
                StoreOutbox(), self.routes, "durable", questions=StoreQuestions()
            ).tick,
            "executors": self.routes,
            "receive": Intake(StoreInbox(), self.routes, "durable").receive,
        }

    def close(self) -> None:
        """End them all."""
        for process in self.made:
            process.close()

    def ended(self, turn_id: str, status: TurnStatus = TurnStatus.COMPLETED) -> Turn:
        """Wait until the Turn has ended, and as expected."""
        turn: Turn = until(
            lambda: Turn.objects.filter(pk=turn_id, finished_at__isnull=False).first()
        )
        assert turn.status == status, (turn.status, turn.error_class, turn.error_text)
        return turn

    def reaches(self, turn_id: str, status: TurnStatus) -> Turn:
        """Wait until the Turn stands there."""
        found: Turn = until(lambda: Turn.objects.filter(pk=turn_id, status=status).first())
        return found
