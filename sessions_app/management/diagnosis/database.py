"""The database as a doctor looks at it: reachable, migrated, on time, durable, usable locks."""

from __future__ import annotations

import fcntl
import os
import secrets
import tempfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import connection

from sessions_app.management.diagnosis.findings import Finding, Level
from sessions_app.runtime import schema
from sessions_app.store import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOCK_SECONDS: Final = 1.0
_LOCK: Final = "SELECT pg_backend_pid(), pg_try_advisory_lock(%s)"
_UNLOCK: Final = "SELECT pg_backend_pid(), pg_advisory_unlock(%s)"


def version() -> Iterator[Finding]:
    """Which database answers."""
    connection.ensure_connection()
    found = ".".join(str(part) for part in connection.get_database_version())
    yield Finding("database", Level.OK, f"{connection.vendor} {found}")


def migrations() -> Iterator[Finding]:
    """Whether a runtime would start (R238)."""
    missing = schema.unapplied()
    if missing:
        text = f"{', '.join(missing)} are not applied: run manage.py migrate"
        yield Finding("migrations", Level.FAILURE, text)
    else:
        yield Finding("migrations", Level.OK, "all applied")


def clocks() -> Iterator[Finding]:
    """How far the database's clock, which decides everything, is from this machine's (S18)."""
    before = datetime.now(UTC)
    there = clock.now()
    after = datetime.now(UTC)
    apart = abs((there - (before + (after - before) / 2)).total_seconds())
    yield Finding.judged(
        "clocks",
        f"{apart:.3f} s apart",
        fine=apart < _CLOCK_SECONDS,
        advice="leases follow the database; logs of this machine will not match it",
    )


def durability() -> Iterator[Finding]:
    """Whether a commit that was answered survives a loss of power."""
    wanted = _SQLITE if connection.vendor == "sqlite" else _POSTGRESQL
    for name, statement, fine in wanted:
        value = str(_ask(statement)[0]).lower()
        advice = "answered commits may be lost with the machine"
        yield Finding.judged(name, value, fine=value in fine, advice=advice)


_POSTGRESQL: Final = (
    ("fsync", "SHOW fsync", {"on"}),
    ("full_page_writes", "SHOW full_page_writes", {"on"}),
    ("synchronous_commit", "SHOW synchronous_commit", {"on", "remote_write", "remote_apply"}),
)
_SQLITE: Final = (
    ("journal_mode", "PRAGMA journal_mode", {"wal"}),
    ("synchronous", "PRAGMA synchronous", {"2", "3"}),
)


def locks() -> Iterator[Finding]:
    """Whether the presence lock of a process would show its death (S4)."""
    yield _file_lock() if connection.vendor == "sqlite" else _advisory_lock()


def _advisory_lock() -> Finding:
    key = secrets.randbits(62)
    taken, released = _ask(_LOCK, key), _ask(_UNLOCK, key)
    usable = taken[1] and released[1] and taken[0] == released[0]
    text = "advisory locks work" if usable else "advisory locks do not stay with a connection"
    advice = "behind a transaction-pooling proxy lease expiry alone notices a dead brain"
    return Finding.judged("locks", text, fine=bool(usable), advice=advice)


def _file_lock() -> Finding:
    """A file of its own: closing one of the presence file would drop a lock of this process."""
    with tempfile.NamedTemporaryFile(dir=settings.DURABLE["STATE_DIR"], prefix=".lock-") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        where = os.fspath(settings.DURABLE["STATE_DIR"])
    return Finding("locks", Level.OK, f"file locks work in {where}")


def _ask(statement: str, *values: int) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] = cursor.fetchone()
    return row
