"""The presence lock of a farm: a session lock on a connection that nobody shares (S4, S22)."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection

from sessions_app.brain.presence import AdvisoryPresence
from tests.covers import poses
from tests.integration.brain.brains import until

pytestmark = pytest.mark.postgresql


def _end_connection_of(presence: AdvisoryPresence) -> None:
    assert presence._connection is not None
    pid = presence._connection.connection.info.backend_pid
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


@poses("S4")
def test_s4_a_lock_ends_with_its_connection(database: None) -> None:
    """Others see the key free as soon as the holder's connection is gone."""
    holder, watcher = AdvisoryPresence(), AdvisoryPresence()
    holder.keep()
    watcher.keep()
    assert watcher.free({holder.key}) == set()

    _end_connection_of(holder)

    until(lambda: watcher.free({holder.key}) == {holder.key}, 5)
    watcher.close()
    holder.close()


@poses("S4")
def test_s4_a_broken_connection_is_noticed_and_the_lock_taken_again(database: None) -> None:
    """The look fails, and the next `keep` holds the same key on a new connection."""
    presence, other = AdvisoryPresence(), AdvisoryPresence()
    assert presence.keep()
    other.keep()
    _end_connection_of(presence)

    with pytest.raises(OperationalError):
        presence.free(())

    assert presence.keep()
    assert presence.connected == 2
    assert other.free({presence.key}) == set()
    presence.close()
    other.close()


@poses("S4")
def test_s4_looking_takes_no_lock(database: None) -> None:
    """A key that was looked at can be taken at once."""
    first, second = AdvisoryPresence(), AdvisoryPresence()
    first.keep()

    assert first.free({second.key}) == {second.key}
    assert second.keep()
    first.close()
    second.close()
