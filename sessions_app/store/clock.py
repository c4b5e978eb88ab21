"""The database's clock, behind one function on both engines (law 5, S18).

Tests move it by `offset`.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from django.db import connection
from django.db.backends.signals import connection_created

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.backends.base.base import BaseDatabaseWrapper

_offset = timedelta(0)


def now() -> datetime:
    """Database time, UTC. Inside a change it is read after the locks, once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT durable_now()")
        (value,) = cursor.fetchone()
    return (
        value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)
    )


@contextmanager
def offset(by: timedelta) -> Iterator[None]:
    """Move the clock of every connection that this process makes or has, for a test."""
    global _offset  # noqa: PLW0603 - one clock a process
    before, _offset = _offset, by
    _apply(connection)
    try:
        yield
    finally:
        _offset = before
        _apply(connection)


def _sqlite_now() -> str:
    """SQLite has no clock of its own: one machine, one clock, in Django's text form."""
    return (
        (datetime.now(UTC) + _offset)
        .replace(tzinfo=None)
        .isoformat(sep=" ", timespec="microseconds")
    )


def _apply(made: BaseDatabaseWrapper) -> None:
    if made.vendor == "sqlite" and made.connection is not None:
        made.connection.create_function("durable_now", 0, _sqlite_now)
    elif made.vendor == "postgresql" and _offset:
        with made.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('durable.clock_offset', %s, false)",
                [f"{_offset.total_seconds()} s"],
            )
    elif made.vendor == "postgresql" and made.connection is not None:
        with made.cursor() as cursor:
            cursor.execute("SELECT set_config('durable.clock_offset', '', false)")


def _on_connection(connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_function("durable_now", 0, _sqlite_now)
    elif _offset:
        _apply(connection)


def install() -> None:
    """Give each new connection the clock; called once when the app is ready."""
    connection_created.connect(_on_connection, dispatch_uid="durable-clock")
