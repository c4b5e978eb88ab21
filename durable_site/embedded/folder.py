"""The private state folder and the lock that gives it to one supervisor at a time."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

_LOCK_NAME = "supervisor.lock"


class FolderTakenError(RuntimeError):
    """Another supervisor runs in this state folder."""

    def __init__(self, folder: Path, pid: str, note: str) -> None:
        """Say which process has the folder, and what it noted."""
        at = f" at {note}" if note else ""
        super().__init__(f"the system of {folder} already runs{at} (process {pid})")


def prepare(folder: Path) -> Path:
    """Make the folder, readable by its owner alone, and return its absolute path."""
    folder = folder.absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


class Claim:
    """The right to run a supervisor in one state folder; it ends with the process at the latest."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, or raise `FolderTakenError` naming the process that has it."""
        self.folder = prepare(folder)
        self._path = self.folder / _LOCK_NAME
        self._lock = self._take()
        os.truncate(self._lock, 0)
        self.note("")

    def note(self, text: str) -> None:
        """Leave a line for whoever is refused, such as the address of the running system."""
        os.pwrite(self._lock, f"{os.getpid()} {text}\n".encode(), 0)

    def _take(self) -> int:
        while True:
            lock = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                pid, _, note = os.read(lock, 256).decode().strip().partition(" ")
                os.close(lock)
                raise FolderTakenError(self.folder, pid or "unknown", note) from error
            if self._is_current(lock):
                return lock
            os.close(lock)  # its last owner removed the file between our open and our lock

    def _is_current(self, lock: int) -> bool:
        try:
            return os.path.samestat(os.fstat(lock), self._path.stat())
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Give the folder back and leave no lock file."""
        if self._lock >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        """Return the claim, already held."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the folder back."""
        self.close()
