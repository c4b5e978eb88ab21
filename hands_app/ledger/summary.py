"""What stands in the ledger, for operators: counted, and what of it needs somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from hands_app.ledger import refusals
from hands_app.ledger.tables import event, execution, host
from hands_app.machine.owning import LEASE

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy import Connection, Row

    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database

LATE: Final = 60.0
"""Seconds that an update or an execution may wait before somebody should look."""


def summary(
    database: Database, *, late: float = LATE, lease: timedelta = LEASE
) -> dict[str, JsonValue]:
    """Return executions by state, hosts, refusals, what waits and since when; ages in seconds.

    `problems` has a sentence for each thing that needs somebody; none when all is well.
    """
    with database.read() as connection:
        now = database.clock(connection)
        states = _by_state(connection)
        waiting = _waiting(connection, now)
        unpublished, oldest = _unpublished(connection, now)
        living = list(
            connection.execute(
                select(host).where(host.c.ended_at.is_(None)).order_by(host.c.host_id)
            )
        )
        told = refusals.counts(connection), refusals.recent(connection)
    problems = [
        *_of_waiting(waiting, living, late),
        *_of_updates(unpublished, oldest, late),
        *_of_silence(living, now, lease),
        *_of_doubt(states.get("UNKNOWN", 0)),
    ]
    return {
        "problems": list(problems),
        "executions": dict(states),
        "unclaimed": {route: {"count": many, "oldestSeconds": age} for route, many, age in waiting},
        "unpublished": unpublished,
        "oldestUnpublishedSeconds": oldest,
        "refusals": told[0],
        "recentRefusals": told[1],
        "hosts": [_host(row) for row in living],
    }


def _by_state(connection: Connection) -> dict[str, int]:
    query = select(execution.c.state, func.count().label("many")).group_by(execution.c.state)
    return {row.state: row.many for row in connection.execute(query)}


def _waiting(connection: Connection, now: datetime) -> list[tuple[str, int, float]]:
    """Return each route with work that is due and unclaimed: how much, and the oldest's age."""
    query = (
        select(
            execution.c.route,
            func.count().label("many"),
            func.min(execution.c.available_at).label("since"),
        )
        .where(execution.c.state == "ADMITTED", execution.c.available_at <= now)
        .group_by(execution.c.route)
        .order_by(execution.c.route)
    )
    return [(row.route, row.many, _age(now, row.since)) for row in connection.execute(query)]


def _unpublished(connection: Connection, now: datetime) -> tuple[int, float | None]:
    query = select(func.count().label("many"), func.min(event.c.at).label("since")).where(
        event.c.published_at.is_(None)
    )
    row = connection.execute(query).one()
    return row.many, None if row.since is None else _age(now, row.since)


def _age(now: datetime, since: datetime) -> float:
    return round((now - since).total_seconds(), 1)


def _of_waiting(
    waiting: list[tuple[str, int, float]], living: list[Row[tuple[object, ...]]], late: float
) -> list[str]:
    served = {
        route
        for row in living
        if row.role == "work" and row.draining_at is None
        for route in row.routes.split(",")
    }
    return [
        f"route {route}: {many} executions wait, the oldest for {age:.0f} s; "
        + ("its workers are full or lack the tool" if route in served else "no worker serves it")
        for route, many, age in waiting
        if age > late
    ]


def _of_updates(many: int, oldest: float | None, late: float) -> list[str]:
    if oldest is None or oldest <= late:
        return []
    return [f"{many} updates wait for the broker, the oldest for {oldest:.0f} s"]


def _of_silence(
    living: list[Row[tuple[object, ...]]], now: datetime, lease: timedelta
) -> list[str]:
    return [
        f"host {row.host_id} (process {row.process_id}) has been silent for "
        f"{_age(now, row.renewed_at):.0f} s"
        for row in living
        if now - row.renewed_at > lease
    ]


def _of_doubt(many: int) -> list[str]:
    if not many:
        return []
    return [f"{many} executions are UNKNOWN: look at each, verify outside, then reconcile"]


def _host(row: Row[tuple[object, ...]]) -> dict[str, JsonValue]:
    return {
        "id": row.host_id,
        "role": row.role,
        "routes": row.routes.split(","),
        "pid": row.process_id,
        "slots": row.slots,
        "renewedAt": row.renewed_at.isoformat(),
        "draining": row.draining_at is not None,
    }
