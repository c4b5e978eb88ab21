"""Retention: what of ended executions goes, and when (S8).

Output, binding, arguments and origin go a while after the end, as the host says. The execution with
its updates goes a day after its end and after the last moment at which a command could start it;
graves and tombstones too. The row of a host goes a day after its end.

Identity, request digest, result and updates stay for that day, since a duplicate of the command may
come and the Brain may still ask; a duplicate that comes later is later than its own `not_after` and
starts nothing. What is UNKNOWN, has an update that no broker took, or was reconciled by a person
stays: the last goes with its Session, by a purge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, exists, func, select, update

from hands_app.ledger.purging import KEPT
from hands_app.ledger.tables import (
    event,
    execution,
    host,
    observation,
    output_chunk,
    reconciliation,
)
from hands_app.worker.ports import Pruned

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from sqlalchemy import ColumnElement, Connection

    from hands_app.ledger.engine import Database

_HAS_ENDED: Final = execution.c.output_sealed_at.is_not(None)
_IS_EMPTY: Final = {"binding": None, "arguments": None, "origin": None}


class SqlRetention:
    """Implements `worker.ports.Retention` on SQLite and PostgreSQL; several may do it at once."""

    def __init__(self, database: Database, *, details: timedelta) -> None:
        """`details`: how long output and request of an ended execution are kept."""
        self._database = database
        self._details = details

    def prune(self, limit: int) -> Pruned:
        """Take at most `limit` of each kind, each kind in one transaction."""
        return Pruned(
            emptied=self._take(self._may_be_emptied, _empty, limit),
            removed=self._take(_may_be_removed, _remove, limit),
            hosts=self._forget_hosts(limit),
        )

    def _take(
        self,
        which: Callable[[datetime], ColumnElement[bool]],
        act: Callable[[Connection, list[str], datetime], None],
        limit: int,
    ) -> int:
        """Look without locks first, so that an idle pool writes nothing; lock, look again, act."""
        oldest = select(execution.c.execution_id).order_by(execution.c.finished_at).limit(limit)
        with self._database.read() as connection:
            chosen = oldest.where(which(self._database.clock(connection)))
            found = list(connection.execute(chosen).scalars())
        if not found:
            return 0
        with self._database.change("prune") as connection:
            now = self._database.clock(connection)
            again = select(execution.c.execution_id).where(
                execution.c.execution_id.in_(found), which(now)
            )
            locked = again.with_for_update(skip_locked=True, of=execution)
            names = list(connection.execute(locked).scalars())
            act(connection, names, now)
            return len(names)

    def _may_be_emptied(self, now: datetime) -> ColumnElement[bool]:
        is_whole = execution.c.pruned_at.is_(None)
        return _HAS_ENDED & is_whole & (execution.c.finished_at < now - self._details)

    def _forget_hosts(self, limit: int) -> int:
        old = select(host.c.host_id).order_by(host.c.ended_at).limit(limit)
        with self._database.read() as connection:
            ended = old.where(host.c.ended_at < self._database.clock(connection) - KEPT)
            names = list(connection.execute(ended).scalars())
        if not names:
            return 0
        with self._database.change("prune") as connection:
            gone = delete(host).where(host.c.host_id.in_(names), host.c.ended_at.is_not(None))
            return connection.execute(gone).rowcount


def _may_be_removed(now: datetime) -> ColumnElement[bool]:
    """Say what nobody may start, and nobody waits for, any more; a batch goes before its parts."""
    last = func.coalesce(execution.c.not_after, execution.c.admitted_at)
    untold = exists().where(
        event.c.execution_id == execution.c.execution_id, event.c.published_at.is_(None)
    )
    audited = exists().where(reconciliation.c.execution_id == execution.c.execution_id)
    is_old = (execution.c.finished_at < now - KEPT) & (last < now - KEPT)
    batch = execution.alias("batch")
    needed = exists().where(batch.c.execution_id == execution.c.batch_id)
    return _HAS_ENDED & is_old & ~untold & ~audited & ~needed


def _empty(connection: Connection, names: list[str], now: datetime) -> None:
    connection.execute(delete(output_chunk).where(output_chunk.c.execution_id.in_(names)))
    emptied = update(execution).where(execution.c.execution_id.in_(names))
    connection.execute(emptied.values(**_IS_EMPTY, pruned_at=now))


def _remove(connection: Connection, names: list[str], _now: datetime) -> None:
    for table in (observation, output_chunk, event, execution):
        connection.execute(delete(table).where(table.c.execution_id.in_(names)))
