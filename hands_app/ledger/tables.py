"""The tables, their constraints and indexes. The migrations make the same; a test compares."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

if TYPE_CHECKING:
    from sqlalchemy import Dialect


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time; SQLite, which knows none, keeps it as UTC without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive times; take the zone off where the database cannot keep it."""
        if value is None:
            return None
        if value.tzinfo is None:
            message = "times in the ledger are aware"
            raise ValueError(message)
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return an aware time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


metadata = MetaData()

execution = Table(
    "hands_execution",
    metadata,
    Column("execution_id", String(40), primary_key=True),
    Column("namespace", String(64), nullable=False),
    Column("route", String(32), nullable=False),
    Column("request_digest", String(71), nullable=False),
    Column("state", String(16), nullable=False),
    Column("effect", String(16)),
    Column("tool", String(64)),
    Column("tool_version", String(64)),
    Column("binding_digest", String(71)),
    Column("binding", Text),
    Column("arguments", Text),
    Column("origin", Text),
    Column("resume", String(8), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("lookups", Integer, nullable=False),
    Column("host_id", String(40)),
    Column("token", String(40)),
    Column("lease_until", UtcDateTime),
    Column("admitted_at", UtcDateTime, nullable=False),
    Column("available_at", UtcDateTime, nullable=False),
    Column("not_after", UtcDateTime),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("cancel_requested_at", UtcDateTime),
    Column("result", Text),
    Column("last_sequence", Integer, nullable=False),
    Column("output_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("output_sealed_at", UtcDateTime),
    Column("pruned_at", UtcDateTime),
    Column("batch_id", String(40)),
    CheckConstraint(
        "state IN ('ADMITTED', 'CLAIMED', 'DIVIDED', 'STARTED',"
        " 'COMPLETED', 'FAILED', 'CANCELLED', 'UNKNOWN')",
        name="hands_execution_state",
    ),
    CheckConstraint(
        "(state IN ('CLAIMED', 'STARTED')) = (lease_until IS NOT NULL)",
        name="hands_execution_lease_while_owned",
    ),
    CheckConstraint(
        "state NOT IN ('CLAIMED', 'STARTED') OR (token IS NOT NULL AND host_id IS NOT NULL)",
        name="hands_execution_owner_while_owned",
    ),
    CheckConstraint(
        "(state IN ('ADMITTED', 'CLAIMED', 'DIVIDED', 'STARTED')) = (result IS NULL)",
        name="hands_execution_result_when_ended",
    ),
    CheckConstraint(
        "(state IN ('ADMITTED', 'CLAIMED', 'DIVIDED', 'STARTED')) = (finished_at IS NULL)",
        name="hands_execution_finished_when_ended",
    ),
    CheckConstraint(
        "(attempt > 0) = (started_at IS NOT NULL)", name="hands_execution_start_record"
    ),
    CheckConstraint(
        "state NOT IN ('STARTED', 'UNKNOWN') OR attempt > 0",
        name="hands_execution_unknown_only_after_start",
    ),
    CheckConstraint(
        "binding_digest IS NOT NULL OR state = 'CANCELLED'", name="hands_execution_tombstone"
    ),
    CheckConstraint(
        "(binding IS NULL) = (binding_digest IS NULL OR pruned_at IS NOT NULL)"
        " AND (binding IS NULL) = (arguments IS NULL) AND (binding IS NULL) = (origin IS NULL)"
        " AND (binding_digest IS NULL) = (effect IS NULL)",
        name="hands_execution_request_whole",
    ),
    CheckConstraint(
        "pruned_at IS NULL OR state IN ('COMPLETED', 'FAILED', 'CANCELLED')",
        name="hands_execution_pruned_when_ended",
    ),
    CheckConstraint(
        "last_sequence >= 1 AND attempt >= 0 AND output_bytes >= 0",
        name="hands_execution_counters",
    ),
    CheckConstraint(
        "(state IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (output_sealed_at IS NOT NULL)",
        name="hands_execution_sealed_when_ended",
    ),
)

Index(
    "hands_execution_claimable",
    execution.c.available_at,
    execution.c.execution_id,
    sqlite_where=text("state = 'ADMITTED'"),
    postgresql_where=text("state = 'ADMITTED'"),
)
Index(
    "hands_execution_owned",
    execution.c.lease_until,
    sqlite_where=text("lease_until IS NOT NULL"),
    postgresql_where=text("lease_until IS NOT NULL"),
)
Index(
    "hands_execution_whole",
    execution.c.finished_at,
    sqlite_where=text("output_sealed_at IS NOT NULL AND pruned_at IS NULL"),
    postgresql_where=text("output_sealed_at IS NOT NULL AND pruned_at IS NULL"),
)
Index(
    "hands_execution_ended",
    execution.c.finished_at,
    sqlite_where=text("output_sealed_at IS NOT NULL"),
    postgresql_where=text("output_sealed_at IS NOT NULL"),
)
Index("hands_execution_token", execution.c.token, unique=True)
Index("hands_execution_turn", execution.c.namespace, execution.c.admitted_at)

Index(
    "hands_execution_divided",
    execution.c.execution_id,
    sqlite_where=text("state = 'DIVIDED'"),
    postgresql_where=text("state = 'DIVIDED'"),
)

batch_child = Table(
    "hands_batch_child",
    metadata,
    Column(
        "batch_id",
        String(40),
        ForeignKey("hands_execution.execution_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("call_id", String(64), nullable=False),
    Column("execution_id", String(40), nullable=False),
    Column("tool", String(64), nullable=False),
    Column("seen", String(16), nullable=False),
    UniqueConstraint("execution_id", name="hands_batch_child_execution"),
    CheckConstraint(
        "seen IN ('WAITING', 'OPEN', 'COMPLETED', 'FAILED', 'CANCELLED', 'UNKNOWN')",
        name="hands_batch_child_seen",
    ),
)
"""The manifest of a batch, frozen at its admission, and what the batch saw of each child (R204)."""

Index(
    "hands_batch_child_unsettled",
    batch_child.c.batch_id,
    sqlite_where=text("seen IN ('OPEN', 'UNKNOWN')"),
    postgresql_where=text("seen IN ('OPEN', 'UNKNOWN')"),
)

event = Table(
    "hands_execution_event",
    metadata,
    Column(
        "execution_id",
        String(40),
        ForeignKey("hands_execution.execution_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("sequence", Integer, primary_key=True),
    Column("event_id", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("payload", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("published_at", UtcDateTime),
    UniqueConstraint("event_id", name="hands_execution_event_id"),
    CheckConstraint(
        "kind IN ('admitted', 'started', 'progress', 'output', 'result', 'observed')",
        name="hands_execution_event_kind",
    ),
    CheckConstraint("sequence >= 1", name="hands_execution_event_sequence"),
)

Index(
    "hands_execution_event_unpublished",
    event.c.at,
    sqlite_where=text("published_at IS NULL"),
    postgresql_where=text("published_at IS NULL"),
)

output_chunk = Table(
    "hands_output_chunk",
    metadata,
    Column(
        "execution_id",
        String(40),
        ForeignKey("hands_execution.execution_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("gap", String(8)),
    Column("body", LargeBinary),
    CheckConstraint("start >= 0 AND size > 0", name="hands_output_chunk_range"),
    CheckConstraint("gap IN ('limit', 'died', 'late')", name="hands_output_chunk_gap"),
    CheckConstraint("(body IS NULL) = (gap IS NOT NULL)", name="hands_output_chunk_body"),
)
"""A chunk without a body is a gap: bytes that are known to be lost (R190)."""

reconciliation = Table(
    "hands_reconciliation",
    metadata,
    Column("request_id", String(128), primary_key=True),
    Column(
        "execution_id",
        String(40),
        ForeignKey("hands_execution.execution_id", ondelete="RESTRICT"),
        nullable=False,
    ),
    Column("request_digest", String(71), nullable=False),
    Column("state", String(16), nullable=False),
    Column("result", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("operator", String(128), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    CheckConstraint(
        "state IN ('COMPLETED', 'FAILED', 'CANCELLED')", name="hands_reconciliation_state"
    ),
    UniqueConstraint("execution_id", name="hands_reconciliation_once"),
)

observation = Table(
    "hands_observation",
    metadata,
    Column(
        "execution_id",
        String(40),
        ForeignKey("hands_execution.execution_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("token", String(40), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("result", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
"""How an attempt really ended whose execution had ended before: kept, and changes nothing (I28)."""

host = Table(
    "hands_host",
    metadata,
    Column("host_id", String(40), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("routes", Text, nullable=False),
    Column("process_id", Integer, nullable=False),
    Column("presence", String(64), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("renewed_at", UtcDateTime, nullable=False),
    Column("draining_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("ending", String(16)),
    CheckConstraint("role IN ('work', 'control')", name="hands_host_role"),
    CheckConstraint("(ended_at IS NULL) = (ending IS NULL)", name="hands_host_end"),
    CheckConstraint("ending IN ('closed', 'lost')", name="hands_host_ending"),
)

refusal = Table(
    "hands_refusal",
    metadata,
    Column("host_id", String(40), primary_key=True),
    Column("reason", String(24), primary_key=True),
    Column("many", BigInteger, nullable=False),
    Column("first_at", UtcDateTime, nullable=False),
    Column("last_at", UtcDateTime, nullable=False),
    Column("recent", Text, nullable=False),
    CheckConstraint("many > 0", name="hands_refusal_many"),
)
"""What each host would not do: how often, and the last few of each reason, as JSON."""

scan = Table(
    "hands_scan",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("holder", String(40), nullable=False),
    Column("held_until", UtcDateTime, nullable=False),
    Column("last_at", UtcDateTime, nullable=False),
    Column("resume_at", UtcDateTime),
)
"""One row: who sweeps, when it last did, and until when nobody is taken over (S4)."""
