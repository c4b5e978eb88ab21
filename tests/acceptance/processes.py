"""Waiting for real processes by signal, never by sleeping."""

import os
import select
import subprocess
import time

import psutil

DEADLINE = 30.0


class Watched:
    """A process watched from before its death, so that its number cannot be mistaken."""

    def __init__(self, pid: int) -> None:
        """Watch the process, which must be alive."""
        self.pid = pid
        self._ending = os.pidfd_open(pid)

    def wait_gone(self, timeout: float = DEADLINE) -> None:
        """Return when the process has ended; fail when it lives on."""
        poller = select.poll()
        poller.register(self._ending, select.POLLIN)
        ended = poller.poll(timeout * 1000)
        os.close(self._ending)
        assert ended, f"process {self.pid} still lives after {timeout:.0f} s"


def read_line(process: subprocess.Popen[bytes], timeout: float = DEADLINE) -> str:
    """Return the next line that the process prints; it must be unbuffered."""
    assert process.stdout is not None
    deadline = time.monotonic() + timeout
    poller = select.poll()
    poller.register(process.stdout, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        assert poller.poll(max(deadline - time.monotonic(), 0) * 1000), f"silent after {line!r}"
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, f"ended after {line!r}"
        line += byte
    return line.decode().rstrip("\n")


def living_with(text: str) -> list[str]:
    """Name every process of this machine whose environment contains the text."""
    return [_name(process) for process in psutil.process_iter() if _mentions(process, text)]


def _mentions(process: psutil.Process, text: str) -> bool:
    try:
        return any(text in value for value in process.environ().values())
    except psutil.Error:
        return False


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())}"
    except psutil.Error:
        return str(process.pid)
