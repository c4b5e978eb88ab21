"""Purging: all that the ledger holds of some executions goes, for a Session that was deleted (T49).

A command may still be under way for an execution that ended lately. Until its day has passed, an
execution without content stays in its place, so that nothing starts a second time (S8, I29).
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, func, select, update

from hands_app.contract.errors import Conflict
from hands_app.contract.strict_json import canonical
from hands_app.ledger.tables import (
    batch_child,
    event,
    execution,
    observation,
    output_chunk,
    reconciliation,
)
from hands_app.machine.execution import State, cancelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Table

    from hands_app.ledger.engine import Database

KEPT: Final = timedelta(days=1)
"""How long an identity outlives the last moment at which a command may start it (S8)."""
_AT_ONCE: Final = 500
_ENDED: Final = (State.COMPLETED, State.FAILED, State.CANCELLED)
_PARTS: Final = (reconciliation, observation, output_chunk, event, batch_child)
_GRAVE: Final = {
    "state": State.CANCELLED,
    "result": canonical(cancelled("its session was purged").to_json()).decode(),
    **dict.fromkeys(
        ("effect", "tool", "tool_version", "binding_digest", "binding", "arguments", "origin")
    ),
}


def count(database: Database, executions: Sequence[str]) -> dict[str, int]:
    """Return how many rows of each table belong to these executions."""
    found: Counter[str] = Counter()
    with database.read() as connection:
        for asked in _batches(executions):
            some = _with_children(connection, asked)
            for table in (*_PARTS, execution):
                rows = select(func.count()).where(table.c.execution_id.in_(some))
                found[table.name] += connection.execute(rows).scalar_one()
    return dict(+found)


def purge(database: Database, executions: Sequence[str]) -> dict[str, int]:
    """Delete these executions and return the rows that went, by table; again, it finds none.

    Raises:
        Conflict: one of them has not ended; of its batch nothing was deleted.
        Unavailable: the ledger cannot be reached; what went is gone, begin again.
    """
    gone: Counter[str] = Counter()
    for asked in _batches(executions):
        with database.change("purge") as connection:
            some = _with_children(connection, asked)
            _refuse_unfinished(connection, some)
            for table in _PARTS:
                gone[table.name] += _deleted(connection, table, some)
            gone[execution.name] += _bury(connection, database, some)
    return dict(+gone)


def _refuse_unfinished(connection: Connection, some: Sequence[str]) -> None:
    rows = select(execution.c.execution_id, execution.c.state).with_for_update()
    chosen = rows.where(execution.c.execution_id.in_(some)).order_by(execution.c.execution_id)
    for row in connection.execute(chosen).all():
        if row.state not in _ENDED:
            message = f"execution {row.execution_id} is {row.state}; cancel or reconcile it first"
            raise Conflict(message)


def _bury(connection: Connection, database: Database, some: Sequence[str]) -> int:
    """Delete what no command can start any more, and empty the rest."""
    since = database.clock(connection) - KEPT
    last = func.coalesce(execution.c.not_after, execution.c.admitted_at)
    ours = execution.c.execution_id.in_(some)
    gone = connection.execute(delete(execution).where(ours, last < since)).rowcount
    emptied = update(execution).where(ours, execution.c.binding_digest.is_not(None))
    return gone + connection.execute(emptied.values(_GRAVE)).rowcount


def _with_children(connection: Connection, asked: Sequence[str]) -> Sequence[str]:
    """Add the children of batches: the Brain knows their batch alone, which holds their words."""
    found = select(batch_child.c.execution_id).where(batch_child.c.batch_id.in_(asked))
    return [*asked, *connection.execute(found).scalars()]


def _deleted(connection: Connection, table: Table, some: Sequence[str]) -> int:
    return connection.execute(delete(table).where(table.c.execution_id.in_(some))).rowcount


def _batches(executions: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(executions), _AT_ONCE):
        yield executions[begin : begin + _AT_ONCE]
