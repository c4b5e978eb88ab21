"""Replaces itself by a command that dies with its parent.

Run by file path, as `python tether.py <parent pid> <command>`, so that nothing else is imported.
The kernel delivers the death signal when the parent *thread* ends, therefore a role's process is
started by the thread that waits for it. The setting survives `exec`, which keeps the command of a
role readable in `ps`. Where the kernel is not Linux there is no such signal.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PARENT_IS_GONE = 70


def main(arguments: list[str]) -> None:
    """Tie this process to its parent and become the command; never returns."""
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above; nobody would ever tell us
        sys.exit(_PARENT_IS_GONE)
    os.execvp(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
