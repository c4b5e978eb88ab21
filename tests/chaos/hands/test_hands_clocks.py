"""Hands hosts whose own clocks are days off (T51). SQLite is one machine with one clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import select

from hands_app.ledger.clock import database_now
from hands_app.ledger.tables import execution
from sessions_app.contract.status import CallState
from tests.chaos.field import TIMEOUT, until
from tests.chaos.hands.ledger import breaches
from tests.chaos.hands.tools import effects, send, send_slowly
from tests.chaos.hands.workers import Forge
from tests.covers import poses

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Workers

pytestmark = [pytest.mark.timeout(TIMEOUT), pytest.mark.postgresql]
DAYS: Final = 3 * 86_400
SHIFTS: Final = (DAYS, -DAYS)
LEASE: Final = {"DURABLE_LEASE_SECONDS": "3", "DURABLE_RENEW_SECONDS": "0.5"}


@poses("T51")
def test_t51_leases_and_not_after_follow_the_database(
    workers: Workers, desk: Desk, ledger: Database, oracle: Path, skew: str
) -> None:
    """One host three days ahead, one behind: no lease ends early, nothing counts as late (T51)."""
    gate = workers.folder / "gate"
    gate.touch()
    forges = [Forge({"LD_PRELOAD": skew}) for _ in SHIFTS]
    try:
        both = [
            replace(workers, forge=forge).start(
                "once.commands", slots=1, env={**LEASE, "CLOCK_SHIFT": str(shift)}
            )
            for forge, shift in zip(forges, SHIFTS, strict=True)
        ]
        workers.ready(both)
        assert not any(f"[{date.today()} " in worker.said() for worker in both)  # noqa: DTZ011 - as in logs
        held = [desk.ask(send_slowly) for _ in both]
        desk.until(lambda: len(effects(oracle)) == 2, "one effect on each host")
        waiting = desk.ask(send)
        first = _leases(ledger)
        until(lambda: min(_leases(ledger)) > max(first))
        assert max(_leases(ledger)) <= _now(ledger) + _lease()
        gate.unlink()

        desk.until(
            lambda: {desk.state(call) for call in (*held, waiting)} == {CallState.COMPLETED},
            "three results",
        )
        assert sorted(effects(oracle)) == sorted(call.pk for call in (*held, waiting))
        until(lambda: not breaches(ledger))
    finally:
        workers.close()
        for forge in forges:
            forge.close()


def _lease() -> timedelta:
    return timedelta(seconds=float(LEASE["DURABLE_LEASE_SECONDS"]))


def _leases(ledger: Database) -> list[datetime]:
    with ledger.read() as connection:
        held = select(execution.c.lease_until).where(execution.c.lease_until.is_not(None))
        return list(connection.execute(held).scalars())


def _now(ledger: Database) -> datetime:
    with ledger.read() as connection:
        return database_now(connection)
