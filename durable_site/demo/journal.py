"""What the provider was asked: one record per request, with its end, kept also as JSON lines."""

import enum
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class End(enum.Enum):
    """How a request ended, seen from the provider."""

    OPEN = "open"
    """It is being answered, or held."""
    ANSWERED = "answered"
    """The whole answer was sent."""
    REFUSED = "refused"
    """It was answered with an error."""
    LOST = "lost"
    """The one who asked went away before the end of the answer."""


@dataclass
class Record:
    """One request."""

    number: int
    body: Mapping[str, object]
    end: End = End.OPEN


class Journal:
    """Counts requests from 1 and stores each with its end, in memory and, if wished, in a file."""

    def __init__(self, path: Path | None = None) -> None:
        self._records: list[Record] = []
        self._news = threading.Condition()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._file = os.open(path, flags, 0o600) if path else -1

    def arrived(self, body: Mapping[str, object]) -> Record:
        """Store a request on its arrival."""
        with self._news:
            record = Record(len(self._records) + 1, body)
            self._records.append(record)
            self._write(request=record.number, state="arrived", body=body)
            self._news.notify_all()
        return record

    def held(self, record: Record) -> None:
        """Store that the request is held open, which is the signal to others that it has begun."""
        with self._news:
            self._write(request=record.number, state="held")

    def ended(self, record: Record, end: End) -> None:
        """Store how a request ended."""
        with self._news:
            record.end = end
            self._write(request=record.number, state=end.value)
            self._news.notify_all()

    def records(self) -> list[Record]:
        """Return every request so far, in the order of arrival."""
        with self._news:
            return list(self._records)

    def wait_for_end(self, number: int, timeout: float) -> bool:
        """Wait until the request of this number has ended; false when it has not in time."""
        with self._news:
            return self._news.wait_for(lambda: self._has_ended(number), timeout)

    def _has_ended(self, number: int) -> bool:
        return len(self._records) >= number and self._records[number - 1].end is not End.OPEN

    def _write(self, **line: object) -> None:
        if self._file >= 0:
            os.write(self._file, json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
