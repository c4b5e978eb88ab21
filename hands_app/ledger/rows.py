"""Between rows and the machine: lock and load an execution, write a decision, tell of it."""

from __future__ import annotations

from dataclasses import asdict, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import Connection, RowMapping, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from hands_app.contract.binding import EffectClass
from hands_app.contract.errors import OwnershipLost
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Execute, Update, UpdateKind, version_of
from hands_app.contract.strict_json import canonical, loads
from hands_app.ledger.tables import event, execution, output_chunk
from hands_app.machine.execution import Execution, Resume, State

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.messages import ExecuteByReference
    from hands_app.contract.strict_json import JsonValue
    from hands_app.machine.execution import Decision

    AnyExecute: TypeAlias = Execute | ExecuteByReference

_FIELDS: Final = tuple(field.name for field in fields(Execution))
_COLUMNS: Final = tuple(execution.c[name] for name in _FIELDS)


def lock(connection: Connection, execution_id: str) -> Execution | None:
    """Lock and load one execution, if there is one; what follows decides on what this returns."""
    query = select(*_COLUMNS).where(execution.c.execution_id == execution_id)
    row = connection.execute(query.with_for_update(key_share=True)).mappings().one_or_none()
    return None if row is None else to_execution(row)


def to_execution(row: RowMapping) -> Execution:
    """Return the machine's view of a row."""
    values: dict[str, Any] = {name: row[name] for name in _FIELDS}
    values["state"] = State(values["state"])
    values["resume"] = Resume(values["resume"])
    values["effect"] = None if values["effect"] is None else EffectClass(values["effect"])
    return Execution(**values)


def add(
    connection: Connection, decision: Decision, now: datetime, command: AnyExecute | None
) -> tuple[Update, ...] | None:
    """Insert a decided execution; None when somebody else was faster."""
    made = decision.execution
    values = _plain({name: getattr(made, name) for name in _FIELDS}) | _request(command)
    values |= {"result": _result(decision), "last_sequence": len(decision.news)}
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(execution).values(values).on_conflict_do_nothing()
    # An INSERT tells its row count on SQLite only; what it returns is seen on both.
    if connection.execute(statement.returning(execution.c.execution_id)).first() is None:
        return None
    return _tell(connection, made, decision, now)


def write(
    connection: Connection, before: Execution, decision: Decision, now: datetime
) -> tuple[Update, ...]:
    """Write a decision about a locked execution and put its news into the outbox.

    Raises:
        OwnershipLost: the row is not as it was decided on.
    """
    after = decision.execution
    changed = {
        name: getattr(after, name)
        for name in _FIELDS
        if getattr(after, name) != getattr(before, name)
    }
    changed["last_sequence"] = before.last_sequence + len(decision.news)
    if decision.result is not None:
        changed["result"] = _result(decision)
    guard = (
        update(execution)
        .where(execution.c.execution_id == before.execution_id)
        .where(execution.c.state == before.state.value)
        .where(execution.c.last_sequence == before.last_sequence)
        .where(execution.c.token.is_not_distinct_from(before.token))
    )
    if connection.execute(guard.values(_plain(changed))).rowcount != 1:
        raise OwnershipLost(before.execution_id)
    if decision.output:
        name = {"execution_id": before.execution_id}
        pieces = [name | _plain(asdict(piece)) for piece in decision.output]
        connection.execute(insert(output_chunk), pieces)
    return _tell(connection, before, decision, now)


def _tell(
    connection: Connection, before: Execution, decision: Decision, now: datetime
) -> tuple[Update, ...]:
    updates = tuple(
        Update(
            version=version_of(news.kind, news.payload),
            event_id=new_id("evt_"),
            namespace=before.namespace,
            execution_id=before.execution_id,
            request_digest=before.request_digest,
            route=before.route,
            sequence=before.last_sequence + number,
            kind=news.kind,
            payload=news.payload,
            at=now,
        )
        for number, news in enumerate(decision.news, start=1)
    )
    if not updates:
        return ()
    # What a child tells stays here: its batch speaks for it, and the Brain knows only that (R205).
    inner = {"published_at": None if before.batch_id is None else now}
    connection.execute(insert(event), [_event_row(told) | inner for told in updates])
    return updates if before.batch_id is None else ()


def _event_row(told: Update) -> dict[str, Any]:
    return {
        "execution_id": told.execution_id,
        "sequence": told.sequence,
        "event_id": told.event_id,
        "kind": told.kind.value,
        "payload": canonical(told.payload).decode(),
        "at": told.at,
    }


def to_update(row: RowMapping) -> Update:
    """Return the update of an event row joined with its execution."""
    kind, payload = UpdateKind(row["kind"]), loads(row["payload"])
    return Update.model_validate(
        {
            "version": version_of(kind, payload) if isinstance(payload, dict) else "1",
            "event_id": row["event_id"],
            "namespace": row["namespace"],
            "execution_id": row["execution_id"],
            "request_digest": row["request_digest"],
            "route": row["route"],
            "sequence": row["sequence"],
            "kind": kind,
            "payload": payload,
            "at": row["at"],
        }
    )


def _request(command: AnyExecute | None) -> dict[str, Any]:
    if command is None:
        return {}
    return {
        "tool": command.binding.name,
        "tool_version": command.binding.version,
        "binding": canonical(command.binding.to_json()).decode(),
        "arguments": canonical(_arguments(command)).decode(),
        "origin": canonical(command.origin.to_json()).decode(),
    }


def _arguments(command: AnyExecute) -> dict[str, JsonValue]:
    """What is kept of a command: arguments that were never read are none."""
    return command.arguments if isinstance(command, Execute) else {}


def _result(decision: Decision) -> str | None:
    if decision.result is None:
        return None
    return canonical(decision.result.to_json()).decode()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values as the drivers want them: members of enums as their text."""
    return {
        name: value.value if isinstance(value, Enum) else value for name, value in values.items()
    }
