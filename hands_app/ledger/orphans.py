"""What sweeps do in the ledger: find executions without a living owner, and settle each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, or_, select

from hands_app.ledger import rows
from hands_app.ledger.tables import execution, host
from hands_app.machine import owning, recovery
from hands_app.worker.ports import Told

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from hands_app.ledger.engine import Database


class SqlOrphans:
    """Implements `worker.ports.Orphans` on SQLite and PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, limit: int, *, in_gap: bool) -> list[str]:
        """Return executions whose owner is gone, and those that nobody started in time.

        In a gap the end of a lease proves nothing (S4).
        """
        with self._database.read() as connection:
            now = self._database.clock(connection)
            owned = (
                select(execution.c.execution_id)
                .outerjoin(host, host.c.host_id == execution.c.host_id)
                .where(_owner_is_gone(now, in_gap=in_gap))
                .limit(limit)
            )
            late = (
                select(execution.c.execution_id)
                .where(execution.c.state == "ADMITTED", execution.c.attempt == 0)
                .where(execution.c.not_after < now)
                .limit(limit)
            )
            found = [*connection.execute(owned).scalars(), *connection.execute(late).scalars()]
            return [str(execution_id) for execution_id in found]

    def settle(self, execution_id: str, own_tokens: Collection[str], *, in_gap: bool) -> Told[bool]:
        """Do what the effect class says about one orphan, unless it runs in this process (S4)."""
        with self._database.change("recover") as connection:
            known = rows.lock(connection, execution_id)
            if known is None or known.token in own_tokens:
                return Told(outcome=False)
            now = self._database.clock(connection)
            decision = owning.expire(known, now)
            if decision is None and _is_orphan(connection, execution_id, now, in_gap=in_gap):
                decision = recovery.recover(known, now)
            if decision is None:
                return Told(outcome=False)
            return Told(True, rows.write(connection, known, decision, now))  # noqa: FBT003 - the outcome


def _is_orphan(connection: Connection, execution_id: str, now: datetime, *, in_gap: bool) -> bool:
    """Look again, under the lock, by a later statement (S1)."""
    query = (
        select(execution.c.execution_id)
        .outerjoin(host, host.c.host_id == execution.c.host_id)
        .where(execution.c.execution_id == execution_id, _owner_is_gone(now, in_gap=in_gap))
    )
    return connection.execute(query).first() is not None


def _owner_is_gone(now: datetime, *, in_gap: bool) -> ColumnElement[bool]:
    ended = or_(host.c.ended_at.is_not(None), host.c.host_id.is_(None))
    gone = ended if in_gap else or_(ended, execution.c.lease_until < now)
    return and_(execution.c.lease_until.is_not(None), gone)
