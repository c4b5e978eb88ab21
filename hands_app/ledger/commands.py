"""What commands do to the ledger: admit, cancel, query; one transaction each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind
from hands_app.ledger import batches, pages, rows
from hands_app.ledger.outbox import updates_after
from hands_app.ledger.tables import execution
from hands_app.machine import admission
from hands_app.machine.admission import Admission, Cancellation
from hands_app.worker.ports import Told

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from hands_app.contract.messages import Cancel, Execute, ExecuteByReference, Output, Query
    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database
    from hands_app.machine.execution import Execution

_TOLD_AGAIN: Final = 200


class SqlCommands:
    """Implements `worker.ports.Commands` on SQLite and PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(self, command: Execute, *, runnable: bool) -> Told[Admission]:
        """Make a command durable, or recognise it and tell again what is known (R184, S8)."""
        with self._database.change("admit") as connection:
            known = rows.lock(connection, command.execution_id)
            now = self._database.clock(connection)
            found = admission.admit(known, command, now, runnable=runnable)
            if known is None and found.decision is not None:
                updates = rows.add(connection, found.decision, now, command)
                if updates is not None:
                    batches.keep_manifest(connection, command)
                    return Told(found.outcome, updates)
            else:
                if known is not None and found.decision is not None:
                    rows.write(connection, known, found.decision, now)
                if found.outcome in {Admission.SAME, Admission.TOMBSTONED}:
                    return Told(found.outcome, self._again(connection, known))
                return Told(found.outcome)
        return self.admit(command, runnable=runnable)

    def refuse(self, command: ExecuteByReference) -> Told[Admission]:
        """End a command whose arguments cannot be had here, before anything starts (R192)."""
        with self._database.change("admit") as connection:
            known = rows.lock(connection, command.execution_id)
            found = admission.refuse(known, command, self._database.clock(connection))
            if found.decision is None:
                same = found.outcome is Admission.SAME
                return Told(found.outcome, self._again(connection, known) if same else ())
            now = found.decision.execution.admitted_at
            updates = rows.add(connection, found.decision, now, command)
            if updates is not None:
                return Told(found.outcome, updates)
        return self.refuse(command)

    def cancel(self, command: Cancel) -> Told[Cancellation]:
        """End what was not started, leave a tombstone, or record the wish (R185, I29)."""
        with self._database.change("cancel") as connection:
            known = rows.lock(connection, command.execution_id)
            now = self._database.clock(connection)
            found = admission.cancel(known, command, now)
            if known is None and found.decision is not None:
                updates = rows.add(connection, found.decision, now, None)
                if updates is not None:
                    return Told(found.outcome, updates)
            elif known is not None and found.decision is not None:
                return Told(found.outcome, rows.write(connection, known, found.decision, now))
            elif found.outcome is Cancellation.ALREADY:
                return Told(found.outcome, self._again(connection, known))
            else:
                return Told(found.outcome)
        return self.cancel(command)

    def query(self, command: Query) -> tuple[Update, ...]:
        """Return what came after the prefix that the Brain has; no effect of its own (R186).

        At least the last update is repeated. A ledger that does not know the execution says so.
        """
        with self._database.read() as connection:
            found = select(execution.c.request_digest, execution.c.last_sequence).where(
                execution.c.execution_id == command.execution_id
            )
            row = connection.execute(found).one_or_none()
            if row is None or row.request_digest != command.request_digest:
                return (self._unknown(connection, command),)
            after = min(command.after, row.last_sequence - 1)
            return updates_after(connection, command.execution_id, after, _TOLD_AGAIN)

    def output(self, command: Output) -> Update:
        """Return a page of what a tool wrote; of what is not known, that nothing is left (R190)."""
        with self._database.read() as connection:
            reach = pages.extent(connection, command)
            if reach is None:
                page = pages.nothing_left(command)
            else:
                page = pages.page(connection, command, reach)
            return self._answer(connection, command, UpdateKind.PAGE, page.to_json())

    def _again(self, connection: Connection, known: Execution | None) -> tuple[Update, ...]:
        if known is None:
            return ()
        return updates_after(connection, known.execution_id, 0, _TOLD_AGAIN)

    def _unknown(self, connection: Connection, command: Query) -> Update:
        return self._answer(connection, command, UpdateKind.UNKNOWN_EXECUTION, {})

    def _answer(
        self,
        connection: Connection,
        command: Query | Output,
        kind: UpdateKind,
        payload: dict[str, JsonValue],
    ) -> Update:
        return Update(
            event_id=new_id("evt_"),
            namespace=command.namespace,
            execution_id=command.execution_id,
            request_digest=command.request_digest,
            route=command.route,
            sequence=0,
            kind=kind,
            payload=payload,
            at=self._database.clock(connection),
        )
