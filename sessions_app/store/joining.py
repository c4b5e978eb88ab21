"""Joining a caller's transaction: what we set there, and what we put back (S14)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection

from sessions_app.contract.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

_READ = "SELECT current_setting('transaction_isolation'), current_setting('lock_timeout')"
_SET = "SELECT set_config('lock_timeout', %s, true), set_config('synchronous_commit', 'on', true)"
_RESTORE = "SELECT set_config('lock_timeout', %s, true)"


@contextmanager
def limits() -> Iterator[None]:
    """Bound lock waits inside the caller's transaction, and make its commit a synchronous one.

    A setting made in a savepoint outlives its release, so the lock timeout is put back by hand;
    when
    the savepoint is rolled back the server does it. Raises Invalid for any isolation but READ
    COMMITTED.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        isolation, before = cursor.fetchone()
        if isolation != "read committed":
            msg = f"submit inside a {isolation} transaction is refused; use read committed"
            raise Invalid(msg)
        cursor.execute(_SET, [f"{round(settings.DURABLE['LOCK_WAIT_SECONDS'] * 1000)}ms"])
    yield
    with connection.cursor() as cursor:
        cursor.execute(_RESTORE, [before])


def refuse_waiting() -> None:
    """Raise Invalid inside a transaction: waiting there would hold every lock that it has taken."""
    if connection.in_atomic_block:
        msg = "waiting for a turn inside a transaction would hold its locks; wait after the commit"
        raise Invalid(msg)
