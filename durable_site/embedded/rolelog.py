"""What a role says: in a file that cannot grow without bound, the last lines also in memory."""

from collections import deque
from contextlib import suppress
from pathlib import Path

LOG_BYTES = 4 * 1024 * 1024
_LONGEST_LINE = 16 * 1024
_LINES_IN_MEMORY = 40


class RoleLog:
    """One role's log file with one older generation beside it."""

    def __init__(self, path: Path, limit: int = LOG_BYTES) -> None:
        """Open for appending; `limit` bounds each of the two generations."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._limit = limit
        self._file = path.open("ab", buffering=0)
        self._rest = b""
        self._last: deque[str] = deque(maxlen=_LINES_IN_MEMORY)

    def write(self, data: bytes) -> list[str]:
        """Store the bytes and return the lines that they complete."""
        self._store(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], b""
        complete = [line.decode(errors="replace").rstrip() for line in lines]
        self._last.extend(complete)
        return complete

    def _store(self, data: bytes) -> None:
        with suppress(OSError):  # a full disk loses log lines, never the role
            self._append(data)

    def _append(self, data: bytes) -> None:
        if self._file.tell() + len(data) > self._limit:
            self._file.close()
            self._path.replace(self._path.with_suffix(".log.1"))
            self._file = self._path.open("ab", buffering=0)
        self._file.write(data)

    def last_lines(self, count: int = 15) -> list[str]:
        """Return the newest lines, an unfinished one included."""
        rest = [self._rest.decode(errors="replace")] if self._rest else []
        return [*self._last, *rest][-count:]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
