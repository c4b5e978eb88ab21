"""The starter's end of a guard: gives it its plan, asks, and lets it go."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

from durable_site.embedded.binaries import ServerError
from durable_site.embedded.guard import Plan

_GUARD = str(Path(__file__).with_name("guard.py"))
_STOP_SECONDS = 20.0


class Keeper:
    """One guard process and the server behind it."""

    def __init__(self, name: str, plan: Plan) -> None:
        """Start the guard, and the server behind it; raises ServerError when that fails."""
        self._name = name
        self.temporary = tuple(Path(folder) for folder in plan["remove"])
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            (sys.executable, "-I", "-S", _GUARD),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # the keys of a terminal reach the starter alone
        )
        self._tell(json.dumps(plan), "up")

    def halt(self) -> None:
        """Stop the server for a while."""
        self._tell("halt", "down")

    def run(self) -> None:
        """Start the halted server again; it is not ready yet."""
        self._tell("run", "up")

    def check(self) -> None:
        """Raise ServerError, with the end of the server's log, when it has died."""
        if self._process.poll() is not None:
            self._fail()

    def close(self) -> None:
        """End the server and the guard, and remove the files that are not to stay."""
        self._process.communicate(timeout=_STOP_SECONDS)
        for folder in self.temporary:  # still there only if somebody killed the guard
            shutil.rmtree(folder, ignore_errors=True)

    def _tell(self, line: str, expected: str) -> None:
        request, answer = _pipes(self._process)
        try:
            request.write(f"{line}\n")
            request.flush()
        except BrokenPipeError:
            self._fail()
        if answer.readline().strip() != expected:
            self._fail()

    def _fail(self) -> None:
        said, _ = self._process.communicate(timeout=_STOP_SECONDS)
        message = f"{self._name} failed: {said.removeprefix('failed').strip() or 'it said nothing'}"
        raise ServerError(message)


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        message = "the guard was started without pipes"
        raise ServerError(message)
    return process.stdin, process.stdout
