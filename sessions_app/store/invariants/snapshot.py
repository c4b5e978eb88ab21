"""The snapshot of one check: every query sees the same moment, and none can write."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import connection

from sessions_app.contract.errors import Conflict
from sessions_app.store import clock, looking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


@contextmanager
def snapshot() -> Iterator[datetime]:
    """Hold one snapshot for the length of the block and give the database time at its beginning.

    Writers are not held up. Raises Conflict inside a transaction, which has a snapshot already.
    """
    if connection.in_atomic_block:
        msg = "a check reads a snapshot of its own; call it outside of atomic()"
        raise Conflict(msg)
    now = clock.now()
    with _reading_only(), looking.snapshot():
        yield now


@contextmanager
def _reading_only() -> Iterator[None]:
    """PostgreSQL's snapshot is read-only by itself."""
    if connection.vendor != "sqlite":
        yield
        return
    _say("PRAGMA query_only = ON")
    try:
        yield
    finally:
        _say("PRAGMA query_only = OFF")


def _say(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
