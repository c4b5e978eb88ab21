"""Hosts whose own clocks are wrong (C25). SQLite is one machine with one clock."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest
from django.db import connection

from sessions_app.models import Run, Thread, Turn
from tests.chaos.field import TIMEOUT, until
from tests.covers import poses

if TYPE_CHECKING:
    from tests.chaos.field import Field

pytestmark = [pytest.mark.timeout(TIMEOUT), pytest.mark.postgresql]

HOUR: Final = 3600
LEASE: Final = timedelta(seconds=3)
FIRST_PAUSE: Final = timedelta(seconds=1)
SOON: Final = timedelta(seconds=30)


def _shifted(skew: str, seconds: int) -> dict[str, str]:
    return {
        "LD_PRELOAD": skew,
        "CLOCK_SHIFT": str(seconds),
        "DURABLE_LEASE_SECONDS": "3",
        "DURABLE_RENEW_SECONDS": "1",
    }


@poses("C25")
def test_c25_leases_and_backoff_follow_the_database_whatever_hosts_believe(
    crowd: Field, skew: str
) -> None:
    """One Brain an hour ahead, one an hour behind: no lease ends early, no retry is late (C25)."""
    crowd.hold()
    for seconds in (HOUR, -HOUR):
        assert abs(_believed(_shifted(skew, seconds)) - time.time() - seconds) < HOUR / 2
        crowd.brain(**_shifted(skew, seconds))
    crowd.submit([("held-1", "once hold"), ("held-2", "once hold"), ("flaky", "flaky:1")])
    until(lambda: Thread.objects.filter(lease_expires_at__isnull=False).count() == 2)

    began = _leases()
    until(lambda: min(_leases()) > max(began) + LEASE)
    assert max(_leases()) <= _now() + LEASE
    crowd.let_go()

    crowd.all_end(3)
    assert Turn.objects.filter(takeovers=0, status="COMPLETED").count() == 3
    first, second = Run.objects.filter(turn__failures=1).order_by("ordinal")
    assert first.ended_at is not None
    assert FIRST_PAUSE <= second.started_at - first.ended_at < SOON
    assert abs(_now() - second.started_at) < timedelta(seconds=TIMEOUT)
    crowd.each_effect_once(["once"])
    crowd.verdict()


def _believed(env: dict[str, str]) -> float:
    """What time a process with this environment believes it is."""
    command = (sys.executable, "-c", "import time; print(time.time())")
    return float(subprocess.check_output(command, env=env))


def _leases() -> list[datetime]:
    held = Thread.objects.filter(lease_expires_at__isnull=False)
    return [lease for lease in held.values_list("lease_expires_at", flat=True) if lease is not None]


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
