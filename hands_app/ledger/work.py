"""What owners do in the ledger: claim, start, finish, give back; one transaction each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from hands_app.contract.binding import ToolBinding
from hands_app.contract.errors import OwnershipLost
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Origin, UpdateKind
from hands_app.contract.strict_json import loads
from hands_app.ledger import rows
from hands_app.ledger.reconciling import keep_observation
from hands_app.ledger.tables import execution, host
from hands_app.machine import output, owning, recovery
from hands_app.machine.execution import Decision, News, Refusal, Resume, State
from hands_app.worker.ports import Claim, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime, timedelta

    from sqlalchemy import Connection, RowMapping, Select

    from hands_app.contract.messages import ExecutionResult
    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database
    from hands_app.machine.execution import Execution
    from hands_app.machine.output import Written
    from hands_app.worker.ports import Answer


class SqlWork:
    """Implements `worker.ports.Work` on SQLite and PostgreSQL."""

    def __init__(self, database: Database, *, lease: timedelta = owning.LEASE) -> None:
        self._database = database
        self._lease: Final = lease

    def claim(
        self, host_id: str, routes: Collection[str], digests: Collection[str], limit: int
    ) -> list[Claim]:
        """Take up to `limit` due executions of tools that the host knows, oldest first.

        Raises:
            OwnershipLost: others hold this host for dead; it must introduce itself anew.
        """
        if limit <= 0 or not self._is_anything_due(routes, digests):
            return []
        with self._database.change("claim") as connection:
            _see_that_host_lives(connection, host_id)
            due = _due(self._database.clock(connection), routes, digests).limit(limit)
            locked = due.with_for_update(key_share=True, skip_locked=True)
            found = connection.execute(locked).mappings().all()
            now = self._database.clock(connection)
            return [claim for row in found if (claim := self._take(connection, row, host_id, now))]

    def start(self, claim: Claim) -> Answer:
        """Write the start record, the last commit before the effect (S10)."""
        return self._decide(
            "start", claim, lambda known, now: owning.start(known, claim.token, now)
        )

    def finish(self, claim: Claim, result: ExecutionResult) -> Answer:
        """Record how the attempt ended; if its execution had ended before, as an observation."""
        with self._database.change("finish") as connection:
            known = rows.lock(connection, claim.execution_id)
            if known is None:
                return Told(Refusal.LOST)
            now = self._database.clock(connection)
            decided = owning.finish(known, claim.token, result, now)
            if known.is_terminal:
                told = keep_observation(connection, known, claim.token, result, now)
                return Told(decided if isinstance(decided, Refusal) else known, told)
            if isinstance(decided, Refusal):
                return Told(decided)
            return Told(decided.execution, rows.write(connection, known, decided, now))

    def unconfirmed(self, claim: Claim, failure: ExecutionResult) -> Answer:
        """Record an attempt whose end says nothing of its effect; the effect class decides."""
        return self._decide(
            "finish",
            claim,
            lambda known, now: recovery.unconfirmed(known, claim.token, failure, now),
        )

    def never_happened(self, claim: Claim) -> Answer:
        """Record that a lookup found no effect; the claim may start again."""
        return self._decide(
            "finish", claim, lambda known, now: recovery.never_happened(known, claim.token, now)
        )

    def unsure(self, claim: Claim) -> Answer:
        """Record that a lookup cannot say what happened."""
        return self._decide(
            "finish", claim, lambda known, now: recovery.unsure(known, claim.token, now)
        )

    def lookup_failed(self, claim: Claim) -> Answer:
        """Record that a lookup broke; it is asked again later."""
        return self._decide(
            "finish", claim, lambda known, now: recovery.lookup_failed(known, claim.token, now)
        )

    def release(self, claim: Claim) -> Answer:
        """Give a claim back before its start (S24)."""
        return self._decide(
            "release", claim, lambda known, now: owning.release(known, claim.token, now)
        )

    def progress(self, claim: Claim, payload: dict[str, JsonValue]) -> Answer:
        """Record a sign of life of a running tool."""

        def decide(known: Execution, _now: datetime) -> Decision | Refusal:
            if known.token != claim.token or known.state is not State.STARTED:
                return Refusal.LOST
            return Decision(known, (News(UpdateKind.PROGRESS, payload),))

        return self._decide("progress", claim, decide)

    def output(self, claim: Claim, written: Written) -> Answer:
        """Add to what a running tool wrote (R190)."""
        return self._decide(
            "output", claim, lambda known, _now: output.write(known, claim.token, written)
        )

    def cancel_wishes(self, tokens: Collection[str]) -> frozenset[str]:
        """Return those of the tokens whose executions somebody wants to stop."""
        wished = select(execution.c.token).where(
            execution.c.token.in_(tokens), execution.c.cancel_requested_at.is_not(None)
        )
        with self._database.read() as connection:
            return frozenset(str(token) for token in connection.execute(wished).scalars())

    def _decide(
        self,
        operation: str,
        claim: Claim,
        decide: Callable[[Execution, datetime], Decision | Refusal],
    ) -> Answer:
        """Lock, read the clock, decide on what is there now, write; the spine of all the above."""
        with self._database.change(operation) as connection:
            known = rows.lock(connection, claim.execution_id)
            if known is None:
                return Told(Refusal.LOST)
            now = self._database.clock(connection)
            decided = decide(known, now)
            if isinstance(decided, Refusal):
                return Told(decided)
            updates = rows.write(connection, known, decided, now)
            return Told(decided.execution, updates)

    def _is_anything_due(self, routes: Collection[str], digests: Collection[str]) -> bool:
        """Look without locks first, so that idle hosts write nothing."""
        with self._database.read() as connection:
            due = _due(self._database.clock(connection), routes, digests)
            return connection.execute(due.limit(1)).first() is not None

    def _take(
        self, connection: Connection, row: RowMapping, host_id: str, now: datetime
    ) -> Claim | None:
        known = rows.to_execution(row)
        token = new_id("tok_")
        decision = owning.claim(known, host_id, token, now, self._lease)
        if decision is None:
            return None
        rows.write(connection, known, decision, now)
        arguments = loads(row["arguments"])
        return Claim(
            execution_id=known.execution_id,
            token=token,
            host_id=host_id,
            binding=ToolBinding.model_validate_json(row["binding"]),
            arguments=arguments if isinstance(arguments, dict) else {},
            origin=Origin.model_validate_json(row["origin"]),
            needs_lookup=known.resume is Resume.LOOKUP,
            batch_id=known.batch_id,
            output_bytes=known.output_bytes,
        )


def _see_that_host_lives(connection: Connection, host_id: str) -> None:
    """Hold the Host row, so that nobody marks it lost between this look and the commit."""
    query = select(host.c.host_id).where(host.c.host_id == host_id, host.c.ended_at.is_(None))
    if connection.execute(query.with_for_update(read=True)).first() is None:
        raise OwnershipLost(host_id)


def _due(
    now: datetime, routes: Collection[str], digests: Collection[str]
) -> Select[tuple[object, ...]]:
    return (
        select(execution)
        .where(execution.c.state == "ADMITTED", execution.c.available_at <= now)
        .where(execution.c.route.in_(routes), execution.c.binding_digest.in_(digests))
        .order_by(execution.c.available_at, execution.c.execution_id)
    )
