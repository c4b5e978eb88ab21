"""Batches in the ledger: the frozen manifest, and one step of a batch as one transaction (R204)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, insert, or_, select, update

from hands_app.contract.batch import child_id, children
from hands_app.contract.binding import ToolBinding
from hands_app.contract.errors import InvalidArguments
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Cancel, Execute, ExecutionResult, Origin
from hands_app.contract.strict_json import loads
from hands_app.ledger import rows
from hands_app.ledger.tables import batch_child, execution
from hands_app.machine import admission, batching
from hands_app.machine.batching import Child, Seen
from hands_app.machine.execution import TERMINAL, State
from hands_app.worker.ports import Told

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, RowMapping

    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database
    from hands_app.machine.batching import Step
    from hands_app.machine.execution import Execution

_ENDED = [*(state.value for state in TERMINAL), State.UNKNOWN.value]


def keep_manifest(connection: Connection, command: Execute) -> None:
    """Freeze the children of a batch that is admitted by this transaction.

    A manifest that cannot be read leaves none, which the first step tells the model.
    """
    try:
        calls = children(command.binding, command.arguments)
    except InvalidArguments:
        return
    lines = [
        {
            "batch_id": command.execution_id,
            "ordinal": call.ordinal,
            "call_id": call.call_id,
            "execution_id": child_id(command.execution_id, call.ordinal),
            "tool": call.binding.name,
            "seen": Seen.WAITING.value,
        }
        for call in calls
    ]
    if lines:
        connection.execute(insert(batch_child), lines)


class SqlBatches:
    """Implements `worker.ports.Batches` on SQLite and PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(self, limit: int) -> list[str]:
        """Return batches with a child that ended, with a wish to obey, or that did not begin."""
        ended = (
            select(batch_child.c.batch_id)
            .join(execution, execution.c.execution_id == batch_child.c.execution_id)
            .where(_has_news())
            .distinct()
            .limit(limit)
        )
        fresh = (
            select(execution.c.execution_id)
            .where(execution.c.state == State.DIVIDED.value, execution.c.attempt == 0)
            .limit(limit)
        )
        wished = select(batch_child.c.batch_id).join(
            execution, execution.c.execution_id == batch_child.c.execution_id
        )
        wished = wished.where(_is_to_be_cancelled()).distinct().limit(limit)
        with self._database.read() as connection:
            found = (connection.execute(each).scalars() for each in (ended, fresh, wished))
            return list(dict.fromkeys(str(one) for each in found for one in each))

    def advance(self, batch_id: str) -> Told[bool]:
        """Take one step under the lock of the batch's row; children are locked behind it."""
        with self._database.change("batch") as connection:
            known = rows.lock(connection, batch_id)
            if known is None or known.state not in {State.DIVIDED, State.UNKNOWN}:
                return Told(outcome=False)
            request = _Request.of(connection, batch_id)
            lines = _lines(connection, batch_id)
            now = self._database.clock(connection)
            if lines:
                step = batching.step(known, request.policy, lines, now)
            else:
                step = request.refused(known, now)
            if step is None:
                return Told(outcome=False)
            return Told(True, _write(connection, known, request, step, now))  # noqa: FBT003 - the outcome


class _Request:
    """What was asked of a batch, as it was admitted."""

    def __init__(self, row: RowMapping) -> None:
        self.binding = ToolBinding.model_validate_json(row["binding"])
        arguments = loads(row["arguments"])
        self.arguments: dict[str, JsonValue] = arguments if isinstance(arguments, dict) else {}
        self.origin = Origin.model_validate_json(row["origin"])
        assert self.binding.batch is not None  # noqa: S101 - its row would not be DIVIDED
        self.policy = self.binding.batch

    @classmethod
    def of(cls, connection: Connection, batch_id: str) -> _Request:
        """Load it."""
        columns = (execution.c.binding, execution.c.arguments, execution.c.origin)
        query = select(*columns).where(execution.c.execution_id == batch_id)
        return cls(connection.execute(query).mappings().one())

    def refused(self, batch: Execution, now: datetime) -> Step | None:
        """Decide about a batch without a manifest."""
        try:
            children(self.binding, self.arguments)
        except InvalidArguments as error:
            return batching.refuse(batch, str(error), now)
        return None

    def command(self, batch: Execution, child: Child, now: datetime) -> Execute:
        """Make the command of a child, with the origin of its batch (R177)."""
        call = children(self.binding, self.arguments)[child.ordinal]
        return Execute.of(
            execution_id=child.execution_id,
            binding=call.binding,
            arguments=call.arguments,
            origin=self.origin,
            not_after=now,
            namespace=batch.namespace,
        )


def _write(
    connection: Connection, batch: Execution, request: _Request, step: Step, now: datetime
) -> tuple[Any, ...]:
    for child in step.recorded:
        _see(connection, batch, child, child.seen)
    for child in step.admit:
        command = request.command(batch, child, now)
        rows.add(connection, batching.admitted(batch, child, command, now), now, command)
        _see(connection, batch, child, Seen.OPEN)
    for child in step.cancel:
        _cancel(connection, child, now)
    if step.decision is None:
        return ()
    return rows.write(connection, batch, step.decision, now)


def _cancel(connection: Connection, child: Child, now: datetime) -> None:
    known = rows.lock(connection, child.execution_id)
    if known is None:
        return
    wish = Cancel(
        command_id=new_id("cmd_"),
        namespace=known.namespace,
        execution_id=known.execution_id,
        request_digest=known.request_digest,
        route=known.route,
    )
    found = admission.cancel(known, wish, now)
    if found.decision is not None:
        rows.write(connection, known, found.decision, now)


def _see(connection: Connection, batch: Execution, child: Child, seen: Seen) -> None:
    connection.execute(
        update(batch_child)
        .where(batch_child.c.batch_id == batch.execution_id)
        .where(batch_child.c.ordinal == child.ordinal)
        .values(seen=seen.value)
    )


def _lines(connection: Connection, batch_id: str) -> tuple[Child, ...]:
    query = (
        select(batch_child, execution.c.state, execution.c.result, execution.c.cancel_requested_at)
        .outerjoin(execution, execution.c.execution_id == batch_child.c.execution_id)
        .where(batch_child.c.batch_id == batch_id)
        .order_by(batch_child.c.ordinal)
    )
    return tuple(_child(row) for row in connection.execute(query).mappings())


def _child(row: RowMapping) -> Child:
    return Child(
        ordinal=row["ordinal"],
        call_id=row["call_id"],
        execution_id=row["execution_id"],
        tool=row["tool"],
        seen=Seen(row["seen"]),
        state=None if row["state"] is None else State(row["state"]),
        result=row["result"] and ExecutionResult.model_validate_json(row["result"]),
        cancel_asked=row["cancel_requested_at"] is not None,
    )


def _has_news() -> ColumnElement[bool]:
    """Whether an execution says more than its batch has recorded."""
    return or_(
        and_(batch_child.c.seen == Seen.OPEN.value, execution.c.state.in_(_ENDED)),
        and_(
            batch_child.c.seen == Seen.UNKNOWN.value,
            execution.c.state.in_([state.value for state in TERMINAL]),
        ),
    )


def _is_to_be_cancelled() -> ColumnElement[bool]:
    """Whether somebody wants a batch to stop whose open child has not heard of it."""
    wished = select(execution.c.execution_id).where(
        execution.c.state == State.DIVIDED.value, execution.c.cancel_requested_at.is_not(None)
    )
    return and_(
        batch_child.c.seen == Seen.OPEN.value,
        execution.c.cancel_requested_at.is_(None),
        batch_child.c.batch_id.in_(wished),
    )
