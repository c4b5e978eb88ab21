"""Locks that vanish with their process, so that a death is seen within a second (S4).

On SQLite a POSIX record lock on a file, which the kernel drops; on PostgreSQL an advisory lock on
a connection of its own, which the server drops. Neither survives into a forked child (S22).
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import column, create_engine, func, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from hands_app.contract.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from hands_app.ledger.engine import Database
    from hands_app.worker.ports import Presence

_CLASS: Final = 0x48414E44
"""First half of every advisory key of ours."""

_locks = table("pg_locks", *map(column, ("locktype", "classid", "objid", "objsubid", "database")))
_databases = table("pg_database", column("oid"), column("datname"))
_HELD: Final = (
    select(_locks.c.objid)
    .join(_databases, _databases.c.oid == _locks.c.database)
    .where(_databases.c.datname == func.current_database())
    .where(_locks.c.locktype == "advisory", _locks.c.classid == _CLASS, _locks.c.objsubid == 2)  # noqa: PLR2004 - a key of two halves
)
"""The keys of all who live; a process that waits for one would not count, and none waits."""


def presence_for(database: Database) -> Presence:
    """Return the kind of presence that fits the ledger's database."""
    if not database.is_sqlite:
        return AdvisoryPresence(database)
    return FilePresence(Path(str(database.url.database)).resolve().parent / "locks")


_held_here: set[tuple[int, Path]] = set()
"""Process and file of each lock that is held in this process; a forked child holds none of them."""


class FilePresence:
    """One locked file for each host; the file goes when the host ends in order.

    To its own process a POSIX lock looks free, and closing any descriptor of the file drops it. So
    of several hosts in one process none touches another's file.
    """

    proves_death: Final = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: int | None = None
        self._name = ""
        self.taken = 0

    def take(self, host_id: str) -> str:
        """Lock the host's file for the life of this process."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._name = f"hands-{host_id}.lock"
        self._held = os.open(
            self._folder / self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        fcntl.lockf(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _held_here.add((os.getpid(), self._folder / self._name))
        self.taken += 1
        return self._name

    def is_held(self) -> bool:
        """Whether it was taken: only the end of the process or `drop` frees it."""
        return self._held is not None

    def are_gone(self, presences: Collection[str]) -> frozenset[str]:
        """Return those whose file can be locked."""
        return frozenset(name for name in presences if self._is_free(name))

    def drop(self) -> None:
        """Unlock and remove the file."""
        if self._held is not None:
            _held_here.discard((os.getpid(), self._folder / self._name))
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._held)
            self._held = None

    def _is_free(self, name: str) -> bool:
        if (os.getpid(), self._folder / name) in _held_here:
            return False
        try:
            file = os.open(self._folder / name, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        else:
            return True
        finally:
            os.close(file)


class AdvisoryPresence:
    """One advisory lock for each process, on a connection that does nothing else."""

    proves_death: Final = False

    def __init__(self, database: Database) -> None:
        self._engine = create_engine(
            database.url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={
                "connect_timeout": 5,
                "application_name": "hands presence",
                "options": "-c statement_timeout=5000",
            },
        )
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self.taken = 0

    def take(self, host_id: str) -> str:
        """Lock a key made from the host's id, on a fresh connection."""
        with self._lock:
            self._leave()
            try:
                connection = self._engine.connect()
                key = self._take_key(connection, host_id)
            except DBAPIError as error:
                message = "the ledger's server cannot be reached for the presence lock"
                raise Unavailable(message) from error
            self._connection = connection
            self.taken += 1
            return str(key)

    def is_held(self) -> bool:
        """Whether the connection that holds the lock still answers."""
        with self._lock:
            if self._connection is None:
                return False
            try:
                self._connection.execute(text("SELECT 1"))
            except DBAPIError:
                self._leave()
                return False
            return True

    def are_gone(self, presences: Collection[str]) -> frozenset[str]:
        """Return those whose key nobody holds, as seen on the own connection."""
        with self._lock:
            if self._connection is None:
                message = "the presence connection is broken"
                raise Unavailable(message)
            try:
                held = self._connection.execute(_HELD).scalars().all()
            except DBAPIError as error:
                self._leave()
                message = "the presence connection broke"
                raise Unavailable(message) from error
            return frozenset(presences) - {str(key) for key in held}

    def drop(self) -> None:
        """Free the lock at once; the server takes a moment to notice a closed connection."""
        with self._lock:
            if self._connection is not None:
                with suppress(DBAPIError):
                    self._connection.execute(text("SELECT pg_advisory_unlock_all()"))
            self._leave()
        self._engine.dispose()

    def _leave(self) -> None:
        if self._connection is not None:
            with suppress(DBAPIError):
                self._connection.close()
            self._connection = None

    def _take_key(self, connection: Connection, host_id: str) -> int:
        """Try keys until one is free: another living host may have the first."""
        for salt in range(100):
            digest = sha256(f"{host_id} {salt}".encode()).digest()
            key = int.from_bytes(digest[:4]) & 0x7FFFFFFF
            if connection.execute(select(func.pg_try_advisory_lock(_CLASS, key))).scalar_one():
                return key
        connection.close()
        message = f"no free presence key for {host_id}"
        raise Unavailable(message)
