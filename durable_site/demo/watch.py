"""Watches the demo's Turn, tells its events as they happen, and kills its Brain on the way."""

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable_site.demo.endpoint import ModelServer
from durable_site.demo.job import Job
from durable_site.demo.timeline import tell
from durable_site.embedded.console import Console
from durable_site.embedded.supervisor import Supervisor
from sessions_app.contract.events import EventType, EventView
from sessions_app.contract.views import TurnView

if TYPE_CHECKING:
    from datetime import datetime

LONGEST = 90.0

_LOOK = 0.05
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class DemoFailedError(RuntimeError):
    """The demo did not show what it promises; says what was found instead."""


@dataclass
class Death:
    """The death of the Brain that had the Turn, and how long the Turn was without one."""

    role: str
    at: float
    recovered: float | None = None


class Watch:
    """One watched Turn, from its first event to its last."""

    def __init__(self, job: Job, site: Supervisor, model: ModelServer, console: Console) -> None:
        self._job = job
        self._site = site
        self._model = model
        self._console = console
        self._began: datetime | None = None
        self._roles: dict[str, str] = {}
        self._spinner = itertools.cycle(_SPINNER)
        self.death: Death | None = None

    def until_end(self) -> TurnView:
        """Tell and kill until the Turn has ended; raise DemoFailedError when it does not."""
        started = time.monotonic()
        try:
            while not (view := self._look()).is_terminal:
                seconds = time.monotonic() - started
                if seconds > LONGEST:
                    message = f"the Turn is {view.status} after {seconds:.0f} s: {self._job.why()}"
                    raise DemoFailedError(message)
                words = f"{next(self._spinner)} {seconds:6.1f} s {view.status}"
                self._console.progress(self._console.paint("dim", words))
                time.sleep(_LOOK)
        finally:
            self._console.progress("")
        return view

    def _look(self) -> TurnView:
        """Tell what is new, and kill when the time has come."""
        view = self._job.view()
        for event in self._job.news():
            self._tell(event)
        if self._model.held.is_set() and self.death is None:
            self.death = self._kill()
        return view

    def _kill(self) -> Death:
        """Kill the Brain that waits for the model, as a crash would."""
        pid = self._job.owner()
        role = next((n for n in self._site.names() if pid and self._site.pid(n) == pid), None)
        if role is None:
            message = f"the Turn's owner, process {pid}, is none of {self._site.names()}"
            raise DemoFailedError(message)
        at = time.time()
        self._site.kill(role)
        words = f"killed with SIGKILL in the middle of a model call (process {pid})"
        self._console.line(self._console.paint("red", f"{'':10}{role:<10}{words}"))
        return Death(role, at)

    def _tell(self, event: EventView) -> None:
        self._began = self._began or event.at
        self._notice_recovery(event)
        told = tell(event.type, event.payload)
        if told is None:
            return
        colour, words = told
        seconds = (event.at - self._began).total_seconds()
        line = f"{seconds:7.2f} s {self._role(event):<10}{words}"
        self._console.line(self._console.paint(colour, line))

    def _notice_recovery(self, event: EventView) -> None:
        """The Turn has a Brain again with the first run that starts after the death."""
        death = self.death
        if event.type == EventType.RUN_STARTED and death and death.recovered is None:
            death.recovered = event.at.timestamp() - death.at

    def _role(self, event: EventView) -> str:
        """Return the role whose process did it, as far as a run says so."""
        if event.run_id is None:
            return ""
        if event.run_id not in self._roles:
            pid = self._job.process_of(event.run_id)
            names = {self._site.pid(name): name for name in self._site.names()}
            self._roles[event.run_id] = names.get(pid, "")
        return self._roles[event.run_id]
