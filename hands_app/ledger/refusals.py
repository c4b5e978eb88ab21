"""The record of what hosts refused: a count for each host and reason, and the last few of each."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, func, insert, select, update

from hands_app.ledger.tables import refusal
from hands_app.worker.refusals import RECENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database
    from hands_app.worker.refusals import Noted

KEPT: Final = timedelta(days=30)
_SHOWN: Final = 20


class SqlRefusals:
    """Implements `worker.ports.RefusalBook` on SQLite and PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, host_id: str, noted: Sequence[Noted]) -> None:
        """Add to what this host has refused, and let go of what is 30 days old."""
        with self._database.change("refuse", durable=False) as connection:
            now = self._database.clock(connection)
            for each in noted:
                _add(connection, host_id, each, now)
            connection.execute(delete(refusal).where(refusal.c.last_at < now - KEPT))


def _add(connection: Connection, host_id: str, noted: Noted, now: datetime) -> None:
    """Only its own host writes a row, one write after the other."""
    mine = (refusal.c.host_id == host_id, refusal.c.reason == noted.reason.value)
    known = connection.execute(select(refusal.c.recent).where(*mine)).scalar_one_or_none()
    recent = [
        *(json.loads(known) if known is not None else ()),
        *(
            {"at": now.isoformat(), "execution": each.execution_id, "detail": each.detail}
            for each in noted.recent
        ),
    ]
    text = json.dumps(recent[-RECENT:])
    if known is not None:
        many = refusal.c.many + noted.count
        connection.execute(update(refusal).where(*mine).values(many=many, last_at=now, recent=text))
        return
    connection.execute(
        insert(refusal).values(
            host_id=host_id,
            reason=noted.reason.value,
            many=noted.count,
            first_at=now,
            last_at=now,
            recent=text,
        )
    )


def counts(connection: Connection) -> dict[str, JsonValue]:
    """Return how often each reason was given, by all hosts."""
    query = select(refusal.c.reason, func.sum(refusal.c.many).label("all")).group_by(
        refusal.c.reason
    )
    return {row.reason: int(row.all) for row in connection.execute(query)}


def recent(connection: Connection) -> list[JsonValue]:
    """Return the newest refusals, the last first."""
    query = select(refusal).order_by(refusal.c.last_at.desc()).limit(_SHOWN)
    found: list[dict[str, JsonValue]] = [
        {"at": each["at"], "reason": row.reason, "host": row.host_id, **each}
        for row in connection.execute(query)
        for each in json.loads(row.recent)
    ]
    return [*sorted(found, key=lambda each: str(each["at"]), reverse=True)[:_SHOWN]]
