"""Runs a set of roles as child processes: all ready, kept alive, all gone at the end.

The processes die with this one, however it ends. In a test:
`with Supervisor(env, roles) as site: site.kill("brain-1")`.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from durable_site.embedded.folder import Claim
from durable_site.embedded.process import Phase, RoleProcess
from durable_site.embedded.rolelog import RoleLog
from durable_site.embedded.roles import CHECKOUT, Role

GRACE = 12.0
READY_WITHIN = 120.0
_AFTER_KILL = 5.0
_ROOT_WARNING = (
    "ignore:::celery.platforms"  # nothing here unpickles, so running as root is only noted
)


class RoleFailedError(RuntimeError):
    """A role died, or was not ready in time, while the system started."""

    @classmethod
    def of(cls, process: RoleProcess, what: str) -> Self:
        """Say what happened to the process, with the last that it said."""
        said = process.log.last_lines() or ["(it said nothing)"]
        lines = "".join(f"\n  | {line}" for line in said)
        return cls(f"{process.role.name} {what}; its last lines:{lines}")


class Supervisor:
    """The roles of one state folder, started on entry and stopped on exit."""

    def __init__(
        self,
        env: Mapping[str, str],
        roles: Sequence[Role],
        *,
        claim: Claim | None = None,
        grace: float = GRACE,
        report: Callable[[RoleProcess], None] = lambda _: None,
    ) -> None:
        """Prepare; `env` holds the house's variables, `report` hears of every new phase.

        A `claim` that is given stays the caller's; otherwise the state folder is claimed here.
        """
        self._env = environment(env)
        self._folder = Path(self._env["DURABLE_STATE_DIR"]).absolute()
        self._roles = roles
        self._given = claim
        self._claim = claim
        self._grace = grace
        self._report = report
        self._processes: dict[str, RoleProcess] = {}
        self._news = threading.Condition()

    def __enter__(self) -> Self:
        """Start everything and return when every role is ready."""
        self._claim = self._given or Claim(self._folder)
        try:
            for role in self._roles:
                self.add(role)
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything."""
        self.stop()

    def add(self, role: Role) -> None:
        """Start one more role."""
        log = RoleLog(self._folder / "logs" / f"{role.name}.log")
        self._processes[role.name] = RoleProcess(role, self._env, log, self._on_change)
        self._processes[role.name].start()

    def wait_ready(self, timeout: float = READY_WITHIN) -> None:
        """Return when every role is ready; if one dies or stays silent, raise its last lines."""
        deadline = time.monotonic() + timeout
        with self._news:
            while waiting := self._not_ready():
                if time.monotonic() > deadline:
                    raise RoleFailedError.of(waiting[0], f"was not ready in {timeout:.0f} s")
                self._news.wait(1.0)

    def _not_ready(self) -> list[RoleProcess]:
        for process in self._processes.values():
            if process.deaths and not process.was_ready:
                raise RoleFailedError.of(process, f"died at start ({process.ending})")
        return [p for p in self._processes.values() if p.phase is not Phase.READY]

    def pid(self, name: str) -> int | None:
        """Return the process id of a role, if it lives."""
        return self._processes[name].pid

    def phase(self, name: str) -> Phase:
        """Say where a role stands."""
        return self._processes[name].phase

    def names(self) -> list[str]:
        """Name every role."""
        return list(self._processes)

    def last_lines(self, name: str, count: int = 15) -> list[str]:
        """Return the newest log lines of a role."""
        return self._processes[name].log.last_lines(count)

    def kill(self, name: str, *, restart: bool | None = None) -> None:
        """Kill a role with SIGKILL and return when it is dead; `restart` overrides its own rule."""
        process = self._processes[name]
        deaths = process.deaths
        process.kill(restart=restart)
        self.wait_until(lambda: process.deaths > deaths)

    def terminate(self, name: str) -> None:
        """Ask one role to end in good order, for good."""
        self._processes[name].ask_to_stop()

    def wait_until(self, condition: Callable[[], bool], timeout: float = 30.0) -> None:
        """Return when the condition holds; looked at on every change of any role."""
        with self._news:
            if not self._news.wait_for(condition, timeout):
                message = f"the roles did not change as expected in {timeout:.0f} s"
                raise TimeoutError(message)

    def stop(self) -> None:
        """Stop everything: ask, wait the grace time, kill. A second Ctrl-C kills at once."""
        try:
            for process in self._processes.values():
                process.ask_to_stop()
            self._join_all(self._grace)
        finally:
            for process in self._processes.values():
                process.send(signal.SIGKILL)
            self._join_all(_AFTER_KILL)
            self._forget()

    def _join_all(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for process in self._processes.values():
            process.join(deadline - time.monotonic())

    def _forget(self) -> None:
        for process in self._processes.values():
            process.log.close()
        self._processes.clear()
        if self._claim is not None and self._given is None:
            self._claim.close()

    def _on_change(self, name: str) -> None:
        with self._news:
            with suppress(OSError):  # a closed terminal is no reason to lose a role
                self._report(self._processes[name])
            self._news.notify_all()


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a child process of the house."""
    given = {**os.environ, **env}
    path = [str(CHECKOUT), *filter(None, given.get("PYTHONPATH", "").split(os.pathsep))]
    warnings = [*filter(None, given.get("PYTHONWARNINGS", "").split(",")), _ROOT_WARNING]
    direct = [*filter(None, given.get("NO_PROXY", "").split(",")), "127.0.0.1", "localhost"]
    return given | {
        "NO_PROXY": ",".join(direct),
        "no_proxy": ",".join(direct),
        "DJANGO_SETTINGS_MODULE": given.get("DJANGO_SETTINGS_MODULE") or "durable_site.settings",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONWARNINGS": ",".join(warnings),
        "PYTHONUNBUFFERED": "1",
    }
