"""Presence: one lock a process, dropped by the system with the process, so that death shows (S4).

On PostgreSQL a session advisory lock on a connection of its own; on SQLite, which means one
machine, a POSIX record lock on one byte of a file. Both are made after the fork and shared with
nobody (S22). Trust: a free lock is only a suspicion; the store decides, from the newest renewal.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import struct
import sys
from typing import TYPE_CHECKING, Final, Protocol

from django.db import DEFAULT_DB_ALIAS, connections

from sessions_app.brain.sql import HELD_PRESENCES, TAKE_PRESENCE

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from django.db.backends.base.base import BaseDatabaseWrapper

_KEY_BITS: Final = 62
LOCK_FILE: Final = "presence.lock"


class PresenceTaken(RuntimeError):
    """Another process holds this key; a fresh one is made."""


class Presence(Protocol):
    """This process's lock, and looks at the locks of others. Used by one thread only."""

    key: int
    connected: int
    """Raised by one with each connection that took the lock: looks compare only within one."""

    def keep(self) -> bool:
        """Hold the lock; True when it had to be taken (again). Raises when that is impossible."""

    def free(self, keys: Collection[int]) -> set[int]:
        """Those of these keys that nobody holds."""

    def close(self) -> None:
        """Let go. Not called while something still runs: the lock then ends with the process."""


def presence(state_dir: Path) -> Presence:
    """The presence that fits the database; its lock is not yet taken."""
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        return AdvisoryPresence()
    return FilePresence(state_dir / LOCK_FILE)


class AdvisoryPresence:
    """A session lock of the database server, free milliseconds after the process is gone."""

    def __init__(self) -> None:
        """Choose a key; connect with the first `keep`."""
        self.key = secrets.randbits(_KEY_BITS)
        self.connected = 0
        self._connection: BaseDatabaseWrapper | None = None

    def keep(self) -> bool:
        """See the protocol."""
        if self._connection is not None:
            return False
        fresh = connections.create_connection(DEFAULT_DB_ALIAS)
        fresh.inc_thread_sharing()  # opened by the watch's thread, closed by whoever ends it
        try:
            self._take(fresh)
        except BaseException:
            fresh.close()
            raise
        self._connection = fresh
        self.connected += 1
        return True

    def _take(self, fresh: BaseDatabaseWrapper) -> None:
        with fresh.cursor() as cursor:
            cursor.execute(TAKE_PRESENCE, [self.key])
            if cursor.fetchone() != (True,):
                # Our own last connection, which the server has not yet given up.
                msg = f"presence lock {self.key} is not free yet"
                raise PresenceTaken(msg)

    def free(self, keys: Collection[int]) -> set[int]:
        """See the protocol; a failure drops the connection, and with it the lock."""
        if self._connection is None:
            msg = "the presence connection is not there"
            raise PresenceTaken(msg)
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(HELD_PRESENCES)
                held = {int(row[0]) for row in cursor.fetchall()}
        except BaseException:
            self.close()
            raise
        if self.key not in held:
            self.close()
            msg = "the server no longer knows our presence lock"
            raise PresenceTaken(msg)
        return set(keys) - held

    def close(self) -> None:
        """See the protocol."""
        broken, self._connection = self._connection, None
        if broken is not None:
            broken.close()


class FilePresence:
    """A record lock on one byte of a file that all processes of the machine share.

    POSIX drops a process's locks on a file when it closes any descriptor of that file: there is one
    descriptor, and it stays open for ever.
    """

    def __init__(self, path: Path) -> None:
        """Choose a byte; open the file with the first `keep`."""
        self.key = secrets.randbits(_KEY_BITS)
        self.connected = 0
        self._path = path
        self._file: int | None = None

    def keep(self) -> bool:
        """See the protocol."""
        if self._file is not None:
            return False
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self.key)
        self._file = descriptor
        self.connected += 1
        return True

    def free(self, keys: Collection[int]) -> set[int]:
        """See the protocol; our own byte always looks free to ourselves."""
        return {key for key in keys if key != self.key and self._is_free(key)}

    def close(self) -> None:
        """See the protocol."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_free(self, key: int) -> bool:
        """Ask without taking: a lock tried for, even shortly, would hide a process from others."""
        assert self._file is not None  # noqa: S101 - `keep` comes first
        question = _FLOCK.pack(*_flock(fcntl.F_WRLCK, key))
        answer = fcntl.fcntl(self._file, fcntl.F_GETLK, question)
        return bool(_FLOCK.unpack(answer)[_TYPE] == fcntl.F_UNLCK)


# `struct flock` as the kernel lays it out: type, whence, start, length, process.
if sys.platform == "darwin":
    _FLOCK: Final = struct.Struct("@qqihh")
    _TYPE: Final = 3

    def _flock(kind: int, start: int) -> tuple[int, ...]:
        return start, 1, 0, kind, os.SEEK_SET

else:
    _FLOCK: Final = struct.Struct("@hhqqi4x")
    _TYPE: Final = 0

    def _flock(kind: int, start: int) -> tuple[int, ...]:
        return kind, os.SEEK_SET, start, 1, 0
