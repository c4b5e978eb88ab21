"""What makes a run the same each time: a clock that stands still, counted ids, a loop by hand."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from unittest import mock

from django.db import connection
from django.db.backends.signals import connection_created

from hands_app.contract import ids
from sessions_app.brain import lease
from sessions_app.store import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.backends.base.base import BaseDatabaseWrapper

BEGINNING: Final = datetime(2030, 1, 1, tzinfo=UTC)
TICK: Final = timedelta(milliseconds=50)

_FROZEN = """
CREATE OR REPLACE FUNCTION durable_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT current_setting('durable.clock_frozen')::timestamptz $$
"""


class Clock:
    """The database's time and every process's, which pass only when a rule says so."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def reset(self) -> None:
        """Begin a run."""
        self.now = BEGINNING
        self.tell(connection)

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by
        self.tell(connection)

    def monotonic(self) -> float:
        """The same time as a process counts it."""
        return (self.now - BEGINNING).total_seconds() + 1.0

    def text(self) -> str:
        """As SQLite stores it."""
        return self.now.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")

    def tell(self, connection: BaseDatabaseWrapper, **_: object) -> None:
        """Show a connection of PostgreSQL what time it is; SQLite asks us."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('durable.clock_frozen', %s, false)", [self.now.isoformat()]
                )


class HandLoop(asyncio.SelectorEventLoop):
    """A loop that runs only while somebody turns the handle, by the time of the clock."""

    def __init__(self, clock_: Clock) -> None:
        super().__init__()
        self._clock = clock_
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """The time of the simulation."""
        return self._clock.monotonic()

    def pump(self) -> None:
        """Run whatever can run now."""
        while self._has_work():
            self.call_soon(self.stop)
            self.run_forever()

    def _has_work(self) -> bool:
        ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined]  # asyncio's own
        return bool(ready) or bool(timers and timers[0].when() <= self.time())


@contextmanager
def standing_still(clock_: Clock) -> Iterator[None]:
    """Give both databases, the leases of processes and all ids to the clock and to counters."""
    with ExitStack() as stack:
        for made in _patches(clock_):
            stack.enter_context(made)
        connection_created.connect(_hasty, dispatch_uid="simulation-haste")
        connection_created.connect(clock_.tell, dispatch_uid="simulation-clock")
        stack.callback(connection_created.disconnect, dispatch_uid="simulation-haste")
        stack.callback(connection_created.disconnect, dispatch_uid="simulation-clock")
        stack.callback(connection.close)
        connection.close()
        connection.ensure_connection()
        stack.enter_context(_frozen_function())
        yield


@contextmanager
def counted() -> Iterator[None]:
    """Count ids and tokens from one, for the length of a run."""
    numbers = itertools.count(1 << 64)
    with (
        mock.patch.object(ids, "_uuid7", numbers.__next__),
        mock.patch.object(secrets, "token_hex", partial(_token, numbers)),
    ):
        yield


def _token(numbers: Iterator[int], size: int) -> str:
    return f"{next(numbers):0{2 * size}x}"


def _patches(clock_: Clock) -> list[mock._patch[object]]:
    return [
        mock.patch.object(clock, "_sqlite_now", clock_.text),
        mock.patch.object(lease, "time", clock_),
    ]


def _hasty(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Nothing of a simulation has to outlive the machine."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA synchronous = OFF")
        else:
            cursor.execute("SET synchronous_commit = off")


@contextmanager
def _frozen_function() -> Iterator[None]:
    """Replace PostgreSQL's clock function, and put it back."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('durable_now'::regproc)")
        (before,) = cursor.fetchone()
        cursor.execute(_FROZEN)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(before)
