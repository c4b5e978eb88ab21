"""Looks at a ledger: what must be true of it at rest, and whether somebody locks it just now."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from hands_app.contract.binding import EffectClass
from hands_app.contract.errors import Unavailable
from hands_app.ledger.tables import event, execution, host, scan
from hands_app.machine.execution import TERMINAL, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Row

    from hands_app.ledger.engine import Database


def breaches(database: Database) -> list[str]:
    """Name what is wrong with a ledger whose executions have all ended or are UNKNOWN."""
    told: dict[str, list[Any]] = defaultdict(list)
    with database.read() as connection:
        rows = connection.execute(select(execution)).all()
        events = select(event).order_by(event.c.execution_id, event.c.sequence)
        for row in connection.execute(events):
            told[row.execution_id].append(row)
    return [f"{row.execution_id}: {text}" for row in rows for text in _wrong(row, told[row[0]])]


def _wrong(row: Row[Any], told: list[Any]) -> Iterator[str]:
    """One execution: its end, its starts (I26), its updates (I30) and their publication."""
    kinds = [each.kind for each in told]
    if row.state not in {*TERMINAL, State.UNKNOWN}:
        yield f"{row.state} in a ledger at rest"
    if [each.sequence for each in told] != list(range(1, row.last_sequence + 1)):
        yield f"updates {[each.sequence for each in told]} up to {row.last_sequence}"
    if kinds.count("started") != row.attempt:
        yield f"{kinds.count('started')} starts told of {row.attempt} attempts"
    if row.attempt > 1 and row.effect == EffectClass.ONCE:
        yield f"{row.attempt} starts of a tool of class once"
    if row.state == State.UNKNOWN and row.effect not in {EffectClass.ONCE, EffectClass.QUERYABLE}:
        yield f"UNKNOWN of class {row.effect}"
    if kinds[-1:] != ["result"] or kinds.count("result") > (2 if row.attempt else 1):
        yield f"told {kinds}"
    if any(each.published_at is None for each in told):
        yield "an update that nobody published"


def nobody_locks(database: Database) -> bool:
    """Whether no process holds a lock of the ledger just now."""
    return _file_is_free(database) if database.is_sqlite else _rows_are_free(database)


def _file_is_free(database: Database) -> bool:
    file = sqlite3.connect(str(database.url.database), timeout=0.2, isolation_level=None)
    with closing(file) as connection, suppress(sqlite3.OperationalError):
        connection.execute("BEGIN IMMEDIATE")
        return True
    return False


def _rows_are_free(database: Database) -> bool:
    with suppress(Unavailable), database.change("host") as connection:
        for table in (execution, host, scan):
            connection.execute(select(table).with_for_update(nowait=True))
        return True
    return False
