"""The ledger as a database: outbox, constraints, schema, fault points."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from hands_app.contract.errors import Incompatible, OwnershipLost, Unavailable
from hands_app.contract.faults import plan
from hands_app.contract.wire import encode
from hands_app.ledger import purging, reconciling, rows, schema
from hands_app.ledger.batches import SqlBatches
from hands_app.ledger.engine import OPERATIONS, Database
from hands_app.ledger.refusals import SqlRefusals
from hands_app.ledger.retention import SqlRetention
from hands_app.ledger.tables import event, execution, metadata
from hands_app.machine.execution import Decision, failed
from hands_app.machine.output import Written
from hands_app.worker.refusals import Reason, Refusals, Refused
from tests.covers import covers, poses
from tests.integration.hands.examples import (
    DONE,
    Ledger,
    batch_of,
    binding,
    cancel,
    evidence,
    execute,
)

if TYPE_CHECKING:
    from pathlib import Path


BROKE = failed("EXCEPTION", "it broke")


@covers("R187")
def test_updates_stay_in_the_outbox_until_they_are_marked(ledger: Ledger) -> None:
    """R187: what the broker did not take is found again, in order, ready to send."""
    command = execute()
    ledger.started(command)

    waiting = ledger.outbox.unpublished(10, older_than=timedelta(0))
    ledger.outbox.mark_published(waiting[:1])

    assert [update.sequence for update in waiting] == [1, 2]
    rest = ledger.outbox.unpublished(10, older_than=timedelta(0))
    assert rest == waiting[1:]
    assert encode(rest[0])
    assert ledger.outbox.unpublished(10, older_than=timedelta(seconds=5)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"state": "RUNNING"},
        {"state": "STARTED"},
        {"state": "UNKNOWN"},
        {"state": "COMPLETED"},
        {"lease_until": None, "state": "CLAIMED"},
        {"binding_digest": None},
        {"attempt": 1},
        {"last_sequence": 0},
    ],
)
def test_the_database_refuses_what_the_machine_would_never_write(
    ledger: Ledger, change: dict[str, object]
) -> None:
    """House rule: the database is the last guard."""
    command = execute()
    ledger.admit(command)

    with pytest.raises(IntegrityError), ledger.database.change("host") as connection:
        connection.execute(update(execution).values(change))


def test_an_event_cannot_be_told_twice(ledger: Ledger) -> None:
    """I19, I30: one event for each sequence."""
    ledger.admit(execute())
    with ledger.database.read() as connection:
        row = dict(connection.execute(select(event)).mappings().one())

    with pytest.raises(IntegrityError), ledger.database.change("host") as connection:
        connection.execute(insert(event).values(row | {"event_id": "evt_other"}))


def test_a_row_that_changed_meanwhile_is_not_written(ledger: Ledger) -> None:
    """Law 4: every guarded write looks at its row count."""
    command = execute()
    claim = ledger.started(command)

    with ledger.database.change("host") as connection:
        known = rows.lock(connection, command.execution_id)
        assert known is not None
        stale = replace(known, token="other")
        with pytest.raises(OwnershipLost):
            rows.write(connection, stale, Decision(known), ledger.clock(connection))
    assert ledger.work.finish(claim, DONE).updates


@covers("R238")
def test_the_schema_is_checked_and_never_made_silently(state_dir: Path) -> None:
    """R238: a missing schema is an error that names the command."""
    empty = Database(f"sqlite:///{state_dir}/other.sqlite3")

    with pytest.raises(Incompatible, match="python -m hands_app migrate"):
        schema.check(empty)
    schema.migrate(empty)
    schema.migrate(empty)
    schema.check(empty)
    empty.close()


def test_migrations_and_tables_describe_the_same_schema(database: Database) -> None:
    """A column added in one place only is found here."""
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": schema.VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, metadata) == []


@poses("S21")
@pytest.mark.sqlite
def test_sqlite_is_opened_as_the_rule_says(database: Database) -> None:
    """S21: WAL, synchronous FULL, foreign keys, a busy timeout of 20 s."""
    with database.read() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]

    assert found == ["wal", 2, 1, 20_000]


def test_a_database_that_is_away_is_unavailable(state_dir: Path) -> None:
    """The class of the error says that it is worth another try."""
    folder = state_dir / "locked"
    folder.mkdir()
    away = Database(f"sqlite:///{folder}/missing/hands.sqlite3")

    with pytest.raises(Unavailable), away.read():
        pass


def test_every_commit_has_a_point_on_either_side(ledger: Ledger) -> None:
    """Reliability 2.3: a kill can be placed before and after each kind of commit."""
    met: list[str] = []
    points = [f"hands.{name}.{side}_commit" for name in OPERATIONS for side in ("before", "after")]
    command, other = execute(), execute()
    with plan(dict.fromkeys(points, met.append)):
        claim = ledger.started(command)
        ledger.work.progress(claim, {"message": "half"})
        ledger.work.output(claim, Written(0, b"words"))
        ledger.work.finish(claim, DONE)
        ledger.commands.cancel(cancel(other))
        ledger.admit(third := execute())
        ledger.work.release(ledger.claim(third)[0])
        ledger.hosts.renew(ledger.host_id, [])
        ledger.hosts.sweep_turn(ledger.host_id)
        ledger.hosts.mark_lost([ledger.host_id])
        ledger.orphans.settle(command.execution_id, [], in_gap=False)
        ledger.outbox.mark_published(ledger.updates(command))
        doubtful = ledger.claim(third, host_id=ledger.enroll())[0]
        ledger.work.start(doubtful)
        ledger.work.unconfirmed(doubtful, BROKE)
        refused = Refusals()
        refused.note(Refused(Reason.INVALID))
        refused.write_to(SqlRefusals(ledger.database), ledger.host_id)
        reconciling.reconcile(ledger.database, evidence(third))
        SqlRetention(ledger.database, details=timedelta(days=-1)).prune(1)
        purging.purge(ledger.database, [command.execution_id])
        ledger.admit(many := execute(batch_of(binding())))
        SqlBatches(ledger.database).advance(many.execution_id)

    assert set(met) == set(points)
