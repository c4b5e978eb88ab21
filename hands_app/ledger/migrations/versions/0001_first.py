"""The first schema: executions, their events and output, hosts, scans, reconciliations."""

import sqlalchemy as sa
from alembic import op

from hands_app.ledger.tables import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hands_execution",
        sa.Column("execution_id", sa.String(length=40), nullable=False),
        sa.Column("namespace", sa.String(length=64), nullable=False),
        sa.Column("route", sa.String(length=32), nullable=False),
        sa.Column("request_digest", sa.String(length=71), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("effect", sa.String(length=16), nullable=True),
        sa.Column("tool", sa.String(length=64), nullable=True),
        sa.Column("tool_version", sa.String(length=64), nullable=True),
        sa.Column("binding_digest", sa.String(length=71), nullable=True),
        sa.Column("binding", sa.Text(), nullable=True),
        sa.Column("arguments", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("resume", sa.String(length=8), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lookups", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.String(length=40), nullable=True),
        sa.Column("token", sa.String(length=40), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("admitted_at", UtcDateTime(), nullable=False),
        sa.Column("available_at", UtcDateTime(), nullable=False),
        sa.Column("not_after", UtcDateTime(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("cancel_requested_at", UtcDateTime(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("last_sequence", sa.Integer(), nullable=False),
        sa.Column("output_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("output_sealed_at", UtcDateTime(), nullable=True),
        sa.Column("pruned_at", UtcDateTime(), nullable=True),
        sa.Column("batch_id", sa.String(length=40), nullable=True),
        sa.CheckConstraint(
            "(state IN ('ADMITTED', 'CLAIMED', 'DIVIDED', 'STARTED')) = (finished_at IS NULL)",
            name="hands_execution_finished_when_ended",
        ),
        sa.CheckConstraint(
            "(state IN ('ADMITTED', 'CLAIMED', 'DIVIDED', 'STARTED')) = (result IS NULL)",
            name="hands_execution_result_when_ended",
        ),
        sa.CheckConstraint(
            "(state IN ('CLAIMED', 'STARTED')) = (lease_until IS NOT NULL)",
            name="hands_execution_lease_while_owned",
        ),
        sa.CheckConstraint(
            "binding_digest IS NOT NULL OR state = 'CANCELLED'", name="hands_execution_tombstone"
        ),
        sa.CheckConstraint(
            "state IN ('ADMITTED', 'CLAIMED', 'DIVIDED', 'STARTED', 'COMPLETED', 'FAILED', 'CANCELLED', 'UNKNOWN')",
            name="hands_execution_state",
        ),
        sa.CheckConstraint(
            "state NOT IN ('CLAIMED', 'STARTED') OR (token IS NOT NULL AND host_id IS NOT NULL)",
            name="hands_execution_owner_while_owned",
        ),
        sa.CheckConstraint(
            "state NOT IN ('STARTED', 'UNKNOWN') OR attempt > 0",
            name="hands_execution_unknown_only_after_start",
        ),
        sa.CheckConstraint(
            "(attempt > 0) = (started_at IS NOT NULL)", name="hands_execution_start_record"
        ),
        sa.CheckConstraint(
            "(binding IS NULL) = (binding_digest IS NULL OR pruned_at IS NOT NULL)"
            " AND (binding IS NULL) = (arguments IS NULL) AND (binding IS NULL) = (origin IS NULL)"
            " AND (binding_digest IS NULL) = (effect IS NULL)",
            name="hands_execution_request_whole",
        ),
        sa.CheckConstraint(
            "pruned_at IS NULL OR state IN ('COMPLETED', 'FAILED', 'CANCELLED')",
            name="hands_execution_pruned_when_ended",
        ),
        sa.CheckConstraint(
            "last_sequence >= 1 AND attempt >= 0 AND output_bytes >= 0",
            name="hands_execution_counters",
        ),
        sa.CheckConstraint(
            "(state IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (output_sealed_at IS NOT NULL)",
            name="hands_execution_sealed_when_ended",
        ),
        sa.PrimaryKeyConstraint("execution_id"),
    )
    with op.batch_alter_table("hands_execution", schema=None) as batch_op:
        batch_op.create_index(
            "hands_execution_claimable",
            ["available_at", "execution_id"],
            unique=False,
            sqlite_where=sa.text("state = 'ADMITTED'"),
            postgresql_where=sa.text("state = 'ADMITTED'"),
        )
        batch_op.create_index(
            "hands_execution_owned",
            ["lease_until"],
            unique=False,
            sqlite_where=sa.text("lease_until IS NOT NULL"),
            postgresql_where=sa.text("lease_until IS NOT NULL"),
        )
        batch_op.create_index(
            "hands_execution_whole",
            ["finished_at"],
            unique=False,
            sqlite_where=sa.text("output_sealed_at IS NOT NULL AND pruned_at IS NULL"),
            postgresql_where=sa.text("output_sealed_at IS NOT NULL AND pruned_at IS NULL"),
        )
        batch_op.create_index(
            "hands_execution_ended",
            ["finished_at"],
            unique=False,
            sqlite_where=sa.text("output_sealed_at IS NOT NULL"),
            postgresql_where=sa.text("output_sealed_at IS NOT NULL"),
        )
        batch_op.create_index("hands_execution_token", ["token"], unique=True)
        batch_op.create_index(
            "hands_execution_divided",
            ["execution_id"],
            unique=False,
            sqlite_where=sa.text("state = 'DIVIDED'"),
            postgresql_where=sa.text("state = 'DIVIDED'"),
        )
        batch_op.create_index("hands_execution_turn", ["namespace", "admitted_at"], unique=False)

    op.create_table(
        "hands_batch_child",
        sa.Column("batch_id", sa.String(length=40), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("call_id", sa.String(length=64), nullable=False),
        sa.Column("execution_id", sa.String(length=40), nullable=False),
        sa.Column("tool", sa.String(length=64), nullable=False),
        sa.Column("seen", sa.String(length=16), nullable=False),
        sa.CheckConstraint(
            "seen IN ('WAITING', 'OPEN', 'COMPLETED', 'FAILED', 'CANCELLED', 'UNKNOWN')",
            name="hands_batch_child_seen",
        ),
        sa.ForeignKeyConstraint(["batch_id"], ["hands_execution.execution_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "ordinal"),
        sa.UniqueConstraint("execution_id", name="hands_batch_child_execution"),
    )
    with op.batch_alter_table("hands_batch_child", schema=None) as batch_op:
        batch_op.create_index(
            "hands_batch_child_unsettled",
            ["batch_id"],
            unique=False,
            sqlite_where=sa.text("seen IN ('OPEN', 'UNKNOWN')"),
            postgresql_where=sa.text("seen IN ('OPEN', 'UNKNOWN')"),
        )

    op.create_table(
        "hands_host",
        sa.Column("host_id", sa.String(length=40), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("routes", sa.Text(), nullable=False),
        sa.Column("process_id", sa.Integer(), nullable=False),
        sa.Column("presence", sa.String(length=64), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("renewed_at", UtcDateTime(), nullable=False),
        sa.Column("draining_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("ending", sa.String(length=16), nullable=True),
        sa.CheckConstraint("ending IN ('closed', 'lost')", name="hands_host_ending"),
        sa.CheckConstraint("role IN ('work', 'control')", name="hands_host_role"),
        sa.CheckConstraint("(ended_at IS NULL) = (ending IS NULL)", name="hands_host_end"),
        sa.PrimaryKeyConstraint("host_id"),
    )
    op.create_table(
        "hands_scan",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("holder", sa.String(length=40), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.Column("resume_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "hands_execution_event",
        sa.Column("execution_id", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("published_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('admitted', 'started', 'progress', 'output', 'result', 'observed')",
            name="hands_execution_event_kind",
        ),
        sa.CheckConstraint("sequence >= 1", name="hands_execution_event_sequence"),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["hands_execution.execution_id"], ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", "sequence"),
        sa.UniqueConstraint("event_id", name="hands_execution_event_id"),
    )
    with op.batch_alter_table("hands_execution_event", schema=None) as batch_op:
        batch_op.create_index(
            "hands_execution_event_unpublished",
            ["at"],
            unique=False,
            sqlite_where=sa.text("published_at IS NULL"),
            postgresql_where=sa.text("published_at IS NULL"),
        )

    op.create_table(
        "hands_output_chunk",
        sa.Column("execution_id", sa.String(length=40), nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("gap", sa.String(length=8), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint("start >= 0 AND size > 0", name="hands_output_chunk_range"),
        sa.CheckConstraint("gap IN ('limit', 'died', 'late')", name="hands_output_chunk_gap"),
        sa.CheckConstraint("(body IS NULL) = (gap IS NOT NULL)", name="hands_output_chunk_body"),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["hands_execution.execution_id"], ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", "start"),
    )
    op.create_table(
        "hands_reconciliation",
        sa.Column("request_id", sa.String(length=128), nullable=False),
        sa.Column("execution_id", sa.String(length=40), nullable=False),
        sa.Column("request_digest", sa.String(length=71), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("operator", sa.String(length=128), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.CheckConstraint(
            "state IN ('COMPLETED', 'FAILED', 'CANCELLED')", name="hands_reconciliation_state"
        ),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["hands_execution.execution_id"], ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("request_id"),
        sa.UniqueConstraint("execution_id", name="hands_reconciliation_once"),
    )
    op.create_table(
        "hands_observation",
        sa.Column("execution_id", sa.String(length=40), nullable=False),
        sa.Column("token", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["hands_execution.execution_id"], ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", "token"),
    )
    op.create_table(
        "hands_refusal",
        sa.Column("host_id", sa.String(length=40), nullable=False),
        sa.Column("reason", sa.String(length=24), nullable=False),
        sa.Column("many", sa.BigInteger(), nullable=False),
        sa.Column("first_at", UtcDateTime(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.Column("recent", sa.Text(), nullable=False),
        sa.CheckConstraint("many > 0", name="hands_refusal_many"),
        sa.PrimaryKeyConstraint("host_id", "reason"),
    )


def downgrade() -> None:
    op.drop_table("hands_refusal")
    op.drop_table("hands_observation")
    op.drop_table("hands_reconciliation")
    op.drop_table("hands_output_chunk")
    with op.batch_alter_table("hands_execution_event", schema=None) as batch_op:
        batch_op.drop_index(
            "hands_execution_event_unpublished",
            sqlite_where=sa.text("published_at IS NULL"),
            postgresql_where=sa.text("published_at IS NULL"),
        )

    op.drop_table("hands_execution_event")
    op.drop_table("hands_scan")
    op.drop_table("hands_host")
    with op.batch_alter_table("hands_batch_child", schema=None) as batch_op:
        batch_op.drop_index(
            "hands_batch_child_unsettled",
            sqlite_where=sa.text("seen IN ('OPEN', 'UNKNOWN')"),
            postgresql_where=sa.text("seen IN ('OPEN', 'UNKNOWN')"),
        )

    op.drop_table("hands_batch_child")
    with op.batch_alter_table("hands_execution", schema=None) as batch_op:
        batch_op.drop_index(
            "hands_execution_divided",
            sqlite_where=sa.text("state = 'DIVIDED'"),
            postgresql_where=sa.text("state = 'DIVIDED'"),
        )
        batch_op.drop_index("hands_execution_turn")
        batch_op.drop_index("hands_execution_ended")
        batch_op.drop_index("hands_execution_whole")
        batch_op.drop_index("hands_execution_token")
        batch_op.drop_index(
            "hands_execution_owned",
            sqlite_where=sa.text("lease_until IS NOT NULL"),
            postgresql_where=sa.text("lease_until IS NOT NULL"),
        )
        batch_op.drop_index(
            "hands_execution_claimable",
            sqlite_where=sa.text("state = 'ADMITTED'"),
            postgresql_where=sa.text("state = 'ADMITTED'"),
        )

    op.drop_table("hands_execution")
