"""The life of one role: start, log, notice readiness and death, start again, stop.

All of it happens in one thread per role, because the kernel's parent-death signal (see `tether`)
follows the thread that started the process.
"""

import enum
import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from durable_site.embedded.rolelog import RoleLog
from durable_site.embedded.roles import CHECKOUT, Role

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
_HEALTHY_AFTER = 30.0
_LOOK_AGAIN_MS = 250
_NOT_STARTED = 127
_CHUNK = 64 * 1024
_TETHER = str(Path(__file__).with_name("tether.py"))


class Phase(enum.Enum):
    """Where a role stands."""

    STARTING = "starting"
    """Its process runs and has not yet said that it is ready."""
    READY = "ready"
    """Its process does its work."""
    RESTING = "died, starts again soon"
    """Its process died; the next one starts after a pause."""
    DEAD = "died"
    """Its process died and no other will be started."""
    STOPPED = "stopped"
    """It was asked to stop and has."""


class RoleProcess:
    """Keeps one role alive until told to stop."""

    def __init__(
        self, role: Role, env: Mapping[str, str], log: RoleLog, changed: Callable[[str], None]
    ) -> None:
        """Prepare; every new phase calls `changed` with the role's name, from its thread."""
        self.role = role
        self.log = log
        self.phase = Phase.STARTING
        self.pid: int | None = None
        self.status = _NOT_STARTED
        self.deaths = 0
        self.was_ready = False
        self.ready_line = ""
        self._env = {**env, **role.env}
        self._changed = changed
        self._restart = role.restart
        self._stopping = threading.Event()
        self._signals = threading.Lock()  # a pid may be signalled only while it is not yet reaped
        self._thread = threading.Thread(target=self._live, name=role.name, daemon=True)

    @property
    def ending(self) -> str:
        """How the newest process ended."""
        if self.status < 0:
            return f"signal {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Ask the process to end in good order and start no other."""
        self._stopping.set()
        self.send(signal.SIGTERM)

    def join(self, timeout: float) -> bool:
        """Wait for the role's end; false when it still lives."""
        self._thread.join(max(timeout, 0.0))
        return not self._thread.is_alive()

    def kill(self, *, restart: bool | None = None) -> None:
        """Kill the process and all that it started, as a crash would."""
        if restart is not None:
            self._restart = restart
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send a signal: SIGKILL reaches the whole process group, any other the leader alone."""
        with self._signals, suppress(ProcessLookupError):
            if self.pid is not None:
                (os.killpg if number is signal.SIGKILL else os.kill)(self.pid, number)

    def _live(self) -> None:
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            born = time.monotonic()
            self._run_once()
            if self._stopping.is_set() or not self._restart:
                break
            self._enter(Phase.RESTING)
            delay = FIRST_DELAY if time.monotonic() - born > _HEALTHY_AFTER else delay
            self._stopping.wait(delay)
            delay = min(delay * 2, LONGEST_DELAY)
        self._enter(Phase.STOPPED if self._stopping.is_set() else Phase.DEAD)

    def _run_once(self) -> None:
        try:
            child = self._spawn()
        except OSError as error:  # no such program, or no room for one more process
            self.log.write(f"cannot start: {error}\n".encode())
            self.status, self.deaths = _NOT_STARTED, self.deaths + 1
            return
        self._enter(Phase.STARTING if self.role.ready else Phase.READY)
        if self._stopping.is_set():
            self.send(signal.SIGTERM)  # asked to stop while it was being started
        with child:
            self._listen(child)
            with self._signals:
                self._end_group(child)
                self.status = child.wait()
                self.pid = None
                self.deaths += 1

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-S", "-E", _TETHER, str(os.getpid()), *self.role.command]
        with self._signals:
            child = subprocess.Popen(  # noqa: S603 - the command is the role's own
                command,
                cwd=CHECKOUT,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                pass_fds=self.role.sockets,
            )
            self.pid = child.pid
        return child

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        """Store what the process says until it has ended."""
        pipe = cast("IO[bytes]", child.stdout).fileno()
        fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK)
        poller = select.poll()
        poller.register(pipe, select.POLLIN)
        ending = _watch(child.pid, poller)
        try:
            while not _has_ended(child.pid):
                poller.poll(_LOOK_AGAIN_MS)
                if self._take(pipe) == b"":
                    poller.unregister(pipe)
                    pipe = -1
            while self._take(pipe):
                pass
        finally:
            if ending is not None:
                os.close(ending)

    def _take(self, pipe: int) -> bytes | None:
        """Move what is there into the log; `b""` means that nothing will ever follow."""
        if pipe < 0:
            return None
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return None
        for line in self.log.write(data):
            if self.phase is Phase.STARTING and self.role.ready and self.role.ready.search(line):
                self.ready_line = line
                self._enter(Phase.READY)
        return data

    def _end_group(self, child: subprocess.Popen[bytes]) -> None:
        """End what the process left behind.

        Its own entry, not yet reaped, keeps the group's number from being given to another.
        """
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.was_ready |= phase is Phase.READY
        self._changed(self.role.name)


def _watch(pid: int, poller: select.poll) -> int | None:
    """Let the poller wake when the process ends; elsewhere its timeout has to do."""
    if not hasattr(os, "pidfd_open"):
        return None
    ending = os.pidfd_open(pid)
    poller.register(ending, select.POLLIN)
    return ending


def _has_ended(pid: int) -> bool:
    """Say whether the process has ended, leaving it to be reaped."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
