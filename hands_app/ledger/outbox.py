"""Updates: committed with the change they tell of, marked once the broker has taken them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, tuple_, update

from hands_app.ledger import rows
from hands_app.ledger.tables import event, execution

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import timedelta

    from sqlalchemy import Connection, Select

    from hands_app.contract.messages import Update
    from hands_app.ledger.engine import Database


class SqlOutbox:
    """Implements `worker.ports.Outbox` on SQLite and PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unpublished(self, limit: int, *, older_than: timedelta) -> list[Update]:
        """Return updates whose publication is not known, in the order of their making (R187)."""
        with self._database.read() as connection:
            before = self._database.clock(connection) - older_than
            query = (
                _updates()
                .where(event.c.published_at.is_(None), event.c.at <= before)
                .order_by(event.c.at, event.c.execution_id, event.c.sequence)
                .limit(limit)
            )
            return [rows.to_update(row) for row in connection.execute(query).mappings()]

    def mark_published(self, updates: Sequence[Update]) -> None:
        """Note that the broker has taken these; forgetting it only repeats them."""
        keys = [(told.execution_id, told.sequence) for told in updates if told.sequence]
        if not keys:
            return
        with self._database.change("publish", durable=False) as connection:
            connection.execute(
                update(event)
                .where(tuple_(event.c.execution_id, event.c.sequence).in_(keys))
                .values(published_at=self._database.clock(connection))
            )

    def mark_taken(self, event_ids: Collection[str]) -> None:
        """Note that a Brain has taken these in; ids that nobody knows are harmless."""
        if not event_ids:
            return
        with self._database.change("publish", durable=False) as connection:
            connection.execute(
                update(event)
                .where(event.c.event_id.in_(event_ids), event.c.published_at.is_(None))
                .values(published_at=self._database.clock(connection))
            )


def updates_after(
    connection: Connection, execution_id: str, after: int, limit: int
) -> tuple[Update, ...]:
    """Return the contiguous updates of an execution behind a sequence."""
    query = (
        _updates()
        .where(event.c.execution_id == execution_id, event.c.sequence > after)
        .order_by(event.c.sequence)
        .limit(limit)
    )
    return tuple(rows.to_update(row) for row in connection.execute(query).mappings())


def _updates() -> Select[tuple[object, ...]]:
    return select(event, execution.c.namespace, execution.c.request_digest, execution.c.route).join(
        execution, execution.c.execution_id == event.c.execution_id
    )
