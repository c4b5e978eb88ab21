"""Reconciliation in the ledger: audit record and result outbox in one commit (R199 to R201).

Whoever calls this answers for it: the host authorises the operator and verifies the fact first
(R202). No queue, no HTTP and no tool leads here. The claim that the work needs is the lock of the
execution's row, held for the one transaction, since the verification lies before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import insert, or_, select

from hands_app.contract.errors import Conflict
from hands_app.contract.messages import ExecutionResult
from hands_app.contract.strict_json import canonical, loads
from hands_app.ledger import rows
from hands_app.ledger.tables import execution, observation, reconciliation
from hands_app.machine import reconciling
from hands_app.worker.ports import Told

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

    from hands_app.contract.messages import Update
    from hands_app.contract.reconciling import Reconciliation
    from hands_app.ledger.engine import Database
    from hands_app.machine.execution import Execution


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The receipt: how the execution ended, on what evidence, who said so and when.

    A repeat of the request gives the same one, whoever repeats it.
    """

    request_id: str
    execution_id: str
    state: str
    evidence: str
    operator: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A late observation of an attempt that differs from what was verified."""

    execution_id: str
    request_id: str
    verified: str
    observed: str
    at: datetime


def reconcile(database: Database, asked: Reconciliation) -> Told[Reconciled]:
    """End one UNKNOWN as it was verified, once; the updates are in the outbox with the receipt.

    Raises:
        NotFound: the ledger knows no such execution.
        Conflict: it is not UNKNOWN, or the request id was used with other content.
        Unavailable: the ledger cannot be reached; ask again with the same request id.
    """
    with database.change("reconcile") as connection:
        # The lock first: of two that ask at once the second finds the receipt of the first.
        known = rows.lock(connection, asked.execution_id)
        receipt = _known(connection, asked)
        if receipt is not None:
            return Told(receipt)
        now = database.clock(connection)
        decision = reconciling.reconcile(known, asked, now)
        assert known is not None  # noqa: S101 - the decision refuses what is not there
        updates = rows.write(connection, known, decision, now)
        connection.execute(insert(reconciliation).values(_audit(known, asked, now)))
        return Told(_receipt(asked, now), updates)


def keep_observation(
    connection: Connection, known: Execution, token: str, result: ExecutionResult, now: datetime
) -> tuple[Update, ...]:
    """Keep how an attempt really ended whose execution had ended otherwise; once for each attempt.

    An attempt whose answer was lost reports what is stored already: nothing is kept (S7).
    """
    text = canonical(result.to_json()).decode()
    if not known.is_terminal or known.was_never_started or _is_stored(connection, known, text):
        return ()
    told = select(observation.c.token).where(
        observation.c.execution_id == known.execution_id, observation.c.token == token
    )
    if connection.execute(told).first() is not None:
        return ()
    row = {"execution_id": known.execution_id, "token": token, "state": result.state.value}
    connection.execute(insert(observation).values(**row, result=text, at=now))
    return rows.write(connection, known, reconciling.observed(known, result), now)


def contradictions(database: Database, limit: int = 100) -> list[Contradiction]:
    """Return late observations that differ from what an operator verified, the newest first."""
    both = observation.join(
        reconciliation, reconciliation.c.execution_id == observation.c.execution_id
    )
    query = (
        select(
            observation.c.execution_id,
            observation.c.at,
            observation.c.result.label("observed"),
            reconciliation.c.result.label("verified"),
            reconciliation.c.request_id,
        )
        .select_from(both)
        .where(
            or_(observation.c.state != reconciliation.c.state, observation.c.state == "COMPLETED")
        )
        .order_by(observation.c.at.desc(), observation.c.execution_id)
        .limit(limit)
    )
    with database.read() as connection:
        found = connection.execute(query).mappings().all()
    return [_contradiction(row) for row in found if _differ(row)]


def _known(connection: Connection, asked: Reconciliation) -> Reconciled | None:
    """The receipt of this request; raises Conflict when it was another one."""
    query = select(reconciliation).where(reconciliation.c.request_id == asked.request_id)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    if [row["execution_id"], loads(row["result"]), row["evidence"]] != asked.content:
        message = f"request id {asked.request_id} was used with other content; use a new id"
        raise Conflict(message)
    return Reconciled(
        row["request_id"],
        row["execution_id"],
        row["state"],
        row["evidence"],
        row["operator"],
        row["at"],
    )


def _audit(known: Execution, asked: Reconciliation, now: datetime) -> dict[str, object]:
    return {
        "request_id": asked.request_id,
        "execution_id": known.execution_id,
        "request_digest": known.request_digest,
        "state": asked.result.state.value,
        "result": canonical(asked.result.to_json()).decode(),
        "evidence": asked.evidence,
        "operator": asked.operator,
        "at": now,
    }


def _receipt(asked: Reconciliation, now: datetime) -> Reconciled:
    return Reconciled(
        asked.request_id,
        asked.execution_id,
        asked.result.state.value,
        asked.evidence,
        asked.operator,
        now,
    )


def _is_stored(connection: Connection, known: Execution, text: str) -> bool:
    query = select(execution.c.result).where(execution.c.execution_id == known.execution_id)
    return bool(connection.execute(query).scalar_one() == text)


def _differ(row: RowMapping) -> bool:
    observed, verified = _result(row["observed"]), _result(row["verified"])
    return (observed.state, observed.content) != (verified.state, verified.content)


def _contradiction(row: RowMapping) -> Contradiction:
    return Contradiction(
        row["execution_id"],
        row["request_id"],
        _result(row["verified"]).state.value,
        _result(row["observed"]).state.value,
        row["at"],
    )


def _result(text: str) -> ExecutionResult:
    return ExecutionResult.model_validate_json(text)
