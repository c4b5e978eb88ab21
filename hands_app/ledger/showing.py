"""One execution as an operator may see it: what happened and what may be done, never its content.

Looking has no effect: the execution neither runs nor is told about again (R186, R268).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from hands_app.contract.errors import NotFound
from hands_app.ledger.tables import event, execution

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Row

    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database


def show(database: Database, execution_id: str) -> dict[str, JsonValue]:
    """Return the facts of one execution; raise NotFound for one that the ledger does not know."""
    with database.read() as connection:
        query = select(execution).where(execution.c.execution_id == execution_id)
        row = connection.execute(query).one_or_none()
        if row is None:
            message = f"the ledger knows no execution {execution_id[:64]}"
            raise NotFound(message)
        told = connection.execute(
            select(event.c.sequence, event.c.kind, event.c.at, event.c.published_at)
            .where(event.c.execution_id == execution_id)
            .order_by(event.c.sequence)
        ).all()
    return {**_facts(row), "updates": _updates(told), "next": _next(row)}


def _facts(row: Row[tuple[object, ...]]) -> dict[str, JsonValue]:
    ended = json.loads(row.result) if row.result is not None else {}
    return {
        "execution": row.execution_id,
        "state": row.state,
        "tool": row.tool,
        "version": row.tool_version,
        "effect": row.effect,
        "route": row.route,
        "attempts": row.attempt,
        "host": row.host_id,
        "admittedAt": _at(row.admitted_at),
        "startedAt": _at(row.started_at),
        "finishedAt": _at(row.finished_at),
        "cancelRequestedAt": _at(row.cancel_requested_at),
        "leaseUntil": _at(row.lease_until),
        "error": ended.get("error"),
    }


def _updates(told: Sequence[Any]) -> list[JsonValue]:
    return [
        {
            "sequence": row.sequence,
            "kind": row.kind,
            "at": _at(row.at),
            "published": row.published_at is not None,
        }
        for row in told
    ]


def _next(row: Row[tuple[object, ...]]) -> str:
    """Say what helps, by what is known."""
    match row.state:
        case "UNKNOWN":
            return (
                f"look outside for what happened under the key {row.execution_id}, then: python -m "
                "hands_app reconcile. Sending the call again runs nothing; a new call may repeat "
                "its effect"
            )
        case "STARTED" if row.cancel_requested_at is not None:
            return "a cancel was asked for; the tool runs until it heeds it or ends"
        case "CLAIMED" | "STARTED":
            return "its host works on it"
        case "ADMITTED":
            return "it waits for a free worker of its route that has the tool"
        case _:
            return "it ended; nothing is to be done"


def _at(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
