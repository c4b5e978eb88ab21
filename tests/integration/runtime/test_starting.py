"""Starting: on a migrated, reachable database, or not at all and soon."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from sessions_app.contract.errors import StaleSchema
from sessions_app.runtime import DurableRuntime, SessionHandle, schema
from tests.covers import covers, poses
from tests.integration.runtime.world import everything
from tests.legs import vendor
from tests.stores import in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Site

_NEWEST = ("sessions_app", "0002_clock")
_BOUND = 20.0


@contextmanager
def _one_missing() -> Iterator[None]:
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied(*_NEWEST)
    try:
        yield
    finally:
        recorder.record_applied(*_NEWEST)


@covers("R238")
def test_unmigrated_schema_is_refused(database: None) -> None:
    """R238: the runtime names what is missing, refuses to start, and migrates nothing."""
    with _one_missing():
        with pytest.raises(StaleSchema, match=r"lacks sessions_app\.0002_clock; run"):
            DurableRuntime()
        missing = schema.unapplied()

    assert missing == ["sessions_app.0002_clock"]


@covers("R238")
def test_unmigrated_schema_is_refused_on_a_loop(database: None) -> None:
    """R238: the same, where the database may not be asked on the calling thread."""

    async def start() -> None:
        DurableRuntime()

    with _one_missing(), pytest.raises(StaleSchema):
        in_thread(lambda: asyncio.run(start())).result(20)


@covers("R010")
def test_start_opens_nothing(database: None) -> None:
    """R010: a runtime that was started and closed left no row and no host behind."""
    before = everything()

    with DurableRuntime():
        pass

    assert everything() == before


@poses("C19")
def test_database_that_is_away_is_told_in_bounded_time(fresh_site: Site) -> None:
    """C19: the call fails soon, with the stable code, in words that say what to do."""
    away = "postgresql://nobody@127.0.0.1:1/none" if vendor() == "postgresql" else "sqlite:////n/o"
    fresh_site.environment["DATABASE_URL"] = away
    began = time.monotonic()

    done = fresh_site.attempt("manage.py", "durable", "status", "turn_x")

    assert done.returncode == 3
    assert done.stderr.strip().startswith("UNAVAILABLE: the database cannot be reached")
    assert time.monotonic() - began < _BOUND


@poses("S22")
@pytest.mark.postgresql
def test_broken_connection_is_replaced(session: SessionHandle) -> None:
    """S22: after the server dropped the connection the next call works, in the same thread."""
    turn = session.submit("r1", "hello")

    _drop_connection()
    status = turn.status().status
    _drop_connection()
    second = session.submit("r2", "hello")

    assert status == "QUEUED"
    assert second.status().status == "QUEUED"


def _drop_connection() -> None:
    """Have the server end this thread's connection, as a restart or a failover does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()

    def end() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

    in_thread(end).result(20)
