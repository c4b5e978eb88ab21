"""The doorbell in a real Redis: one hint a definition until somebody heard it (S16)."""

from __future__ import annotations

import os
import socket
import time
import uuid

import pytest

from sessions_app.contract.identity import DefinitionKey
from sessions_app.transports.celery_wakeups import CeleryWakeups
from sessions_app.transports.redis_doorbell import RedisDoorbell
from tests.covers import poses
from tests.integration.brain.brains import until

pytestmark = pytest.mark.postgresql  # the leg that has a Redis

KEY, OTHER = DefinitionKey("agent", "1"), DefinitionKey("agent", "1", 2)


def bell(lifetime: float = 60.0) -> RedisDoorbell:
    """Flags of a namespace of their own."""
    return RedisDoorbell(os.environ["REDIS_URL"], uuid.uuid4().hex, lifetime)


@poses("S16")
def test_s16_the_first_press_rings_and_the_next_does_not(database: None) -> None:
    """Each definition, version and state version has a flag of its own."""
    made = bell()

    assert made.press(KEY)
    assert not made.press(KEY)
    assert made.press(OTHER)

    made.clear([KEY])
    assert made.press(KEY)
    assert not made.press(OTHER)


@poses("S16")
def test_s16_a_flag_ends_by_itself(database: None) -> None:
    """Whoever dies between ringing and sending silences nobody beyond a scan period."""
    made = bell(lifetime=0.05)
    made.press(KEY)

    until(lambda: made.press(KEY), 5)


@poses("S15")
def test_s15_a_silent_redis_costs_the_ringer_nothing(database: None) -> None:
    """The hint's own thread waits a second and drops it; ringing returns at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        wakeups = CeleryWakeups(lambda _name: None, RedisDoorbell(url, "x", 60.0))

        began = time.monotonic()
        wakeups.ring("thr_1", KEY)
        assert time.monotonic() - began < 0.1

        assert wakeups.flush(10)
        assert wakeups.counts.failed == 1
