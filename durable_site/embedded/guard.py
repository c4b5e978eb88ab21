"""Stands between a server and whoever started it, so that nothing outlives the starter.

Run by file path, so that it imports nothing of the house: `python guard.py`, with the plan as one
JSON line on its input. It runs the preparations, starts the server and answers `up`. The line
`halt` stops the server (answer: `down`), `run` starts it again. When its input ends, because the
starter closed it or died in whatever way, it stops the server, removes the folders named in the
plan and ends. A server that fails is answered with `failed` and the end of its log. Should the
guard itself be killed, the kernel signals the server.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypedDict

_PR_SET_PDEATHSIG = 1
_KILL_AFTER_SECONDS = 10.0
_LOOK_SECONDS = 0.25
_LAST_WORDS = 2000


class Plan(TypedDict):
    """What to run and what to clear away; signals are numbers."""

    prepare: list[list[str]]
    command: list[str]
    folder: str
    env: dict[str, str]
    log: str
    account: tuple[int, int] | None
    stop_signal: int
    death_signal: int
    remove: list[str]


class Guarded:
    """The server, running or not."""

    def __init__(self, plan: Plan, log: BinaryIO) -> None:
        self._plan = plan
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> bool:
        """Run the preparations in turn; false as soon as one has failed."""
        return all(self._start(command).wait() == 0 for command in self._plan["prepare"])

    def run(self) -> None:
        """Start the server, which must not be running."""
        self._process = self._start(self._plan["command"])

    def halt(self) -> None:
        """Stop the server in good order, or kill it when that takes too long."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(self._plan["stop_signal"])
        try:
            process.wait(_KILL_AFTER_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def has_died(self) -> bool:
        """Say whether the server ended without being told to."""
        return self._process is not None and self._process.poll() is not None

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the plan is the starter's own
            command,
            cwd=self._plan["folder"],
            env=self._plan["env"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            preexec_fn=self._become_the_child,  # noqa: PLW1509 - the guard has no other thread
        )

    def _become_the_child(self) -> None:
        if self._plan["account"] is not None:
            uid, gid = self._plan["account"]
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
        os.umask(0o077)
        if sys.platform == "linux":  # last, because a change of account takes it back
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, self._plan["death_signal"], 0, 0, 0)


def main() -> int:
    """Live as long as the starter and the server do; 1 when the server failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    lines = _lines(sys.stdin.fileno())
    plan: Plan = json.loads(next(lines))
    log = Path(plan["log"])
    try:
        with log.open("ab", buffering=0) as file:
            if _guard(Guarded(plan, file), lines):
                return 0
        _answer(f"failed\n{log.read_text(errors='replace')[-_LAST_WORDS:]}")
        return 1
    finally:
        for folder in plan["remove"]:
            shutil.rmtree(folder, ignore_errors=True)


def _guard(server: Guarded, lines: Iterator[str]) -> bool:
    """Do as the lines say until they end; false when the server failed."""
    if not server.prepare():
        return False
    try:
        server.run()
        _answer("up")
        for line in lines:
            if server.has_died():
                return False
            if line == "halt":
                server.halt()
                _answer("down")
            elif line == "run":
                server.run()
                _answer("up")
    finally:
        server.halt()
    return True


def _answer(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # the starter is gone, which its input will tell
        print(text, flush=True)  # noqa: T201 - the pipe to the starter


def _lines(source: int) -> Iterator[str]:
    """Yield each line, and an empty string every while that none comes."""
    kept = b""
    while True:  # a plain read, because select knows nothing of a file object's buffer
        if not select.select([source], [], [], _LOOK_SECONDS)[0]:
            yield ""
            continue
        data = os.read(source, 65536)
        if not data:
            return
        *whole, kept = (kept + data).split(b"\n")
        for line in whole:
            yield line.decode()


if __name__ == "__main__":
    sys.exit(main())
