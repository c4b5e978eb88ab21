"""What operators look at: Host, ScanRun, AuditEntry, PurgeMarker.

And WorkspaceEntry, the agent's small durable files.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.models.fields import CanonicalJSON, id_field
from sessions_app.models.session import Session


class Host(models.Model):
    """One row for each process that lived; the basis of takeover. The id is random (law 4)."""

    id = id_field()
    role = models.CharField(max_length=16)
    hostname = models.CharField(max_length=255)
    pid = models.IntegerField()
    build = models.CharField(max_length=128)
    definitions = CanonicalJSON(default=list)
    digests = CanonicalJSON(default=dict, help_text="content of each definition")
    presence_key = models.BigIntegerField(
        help_text="advisory lock (PostgreSQL) or byte of the lock file (SQLite)"
    )
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(help_text="newest renewal")
    progressed_at = models.DateTimeField(null=True, blank=True, help_text="newest claim or commit")
    draining_at = models.DateTimeField(null=True, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True, help_text="ended in order")
    lost_at = models.DateTimeField(null=True, blank=True, help_text="found dead by a sweep")

    class Meta:
        """Living hosts are few."""

        indexes = (
            models.Index(
                fields=("role",), condition=Q(stopped_at=None, lost_at=None), name="host_living"
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.role} {self.hostname}:{self.pid}"


class ScanRun(models.Model):
    """A scan that found or repaired something.

    Quiet scans update the one `quiet` row of their scanner.
    """

    id = id_field()
    scanner = models.CharField(max_length=40, help_text="host id")
    quiet = models.BooleanField(default=False)
    at = models.DateTimeField()
    found = models.IntegerField(default=0)
    repaired = CanonicalJSON(default=dict, help_text="count by reason")
    lag_seconds = models.FloatField(default=0.0, help_text="age of the oldest ready row")

    class Meta:
        """One quiet row a scanner, so that the table does not grow by itself."""

        constraints = (
            models.UniqueConstraint(
                fields=("scanner",), condition=Q(quiet=True), name="scan_one_quiet_row"
            ),
        )
        indexes = (models.Index(fields=("-at",), name="scan_newest"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.at} found {self.found}"


class AuditEntry(models.Model):
    """Who did what, why, and what changed. Insert only."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, null=True, blank=True, related_name="+")
    actor = models.CharField(max_length=128)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=128)
    reason = models.CharField(max_length=2000, blank=True, default="")
    before = CanonicalJSON(null=True, blank=True)
    after = CanonicalJSON(null=True, blank=True)
    at = models.DateTimeField()

    class Meta:
        """Newest first in lists."""

        verbose_name_plural = "audit entries"

        indexes = (models.Index(fields=("target", "-at"), name="audit_by_target"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.actor} {self.action} {self.target}"


class PurgeMarker(models.Model):
    """What stands for a Session that was purged: that it was there, and what went with it (T49)."""

    id = id_field()
    namespace = models.CharField(max_length=128)
    session_id = models.CharField(max_length=128)
    actor = models.CharField(max_length=128)
    reason = models.CharField(max_length=2000, blank=True, default="")
    removed = CanonicalJSON(help_text="rows by table, and objects")
    at = models.DateTimeField()

    class Meta:
        """Found by the name of what is gone."""

        indexes = (models.Index(fields=("namespace", "session_id"), name="purge_by_session"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.namespace}/{self.session_id} purged {self.at}"


class WorkspaceEntry(models.Model):
    """One key of a Session's versioned workspace (R246)."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="workspace")
    key = models.CharField(max_length=512)
    version = models.BigIntegerField(default=1)
    value = CanonicalJSON(null=True, blank=True)
    object_ref = models.CharField(max_length=200, null=True, blank=True)
    at = models.DateTimeField()

    class Meta:
        """One row a key."""

        verbose_name_plural = "workspace entries"

        constraints = (models.UniqueConstraint(fields=("session", "key"), name="workspace_key"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.key} v{self.version}"


class StoreState(models.Model):
    """The store's one row about itself: its incarnation, and when anybody scanned last."""

    id = models.IntegerField(primary_key=True, default=1)
    incarnation = models.CharField(
        max_length=40,
        help_text="renewed by the restore procedure, so that old cursors expire (S23)",
    )
    scanned_at = models.DateTimeField(null=True, blank=True)
    grace_until = models.DateTimeField(
        null=True, blank=True, help_text="after a gap in scanning nobody is taken over before (S4)"
    )
    pruned_to = models.CharField(
        max_length=40, blank=True, default="", help_text="Session that retention looked at last"
    )
    object_store = models.CharField(
        max_length=40,
        blank=True,
        default="",
        help_text="identity of the store that holds this database's objects",
    )
    swept_to = models.CharField(
        max_length=40, blank=True, default="", help_text="scope of objects that was swept last"
    )

    class Meta:
        """Exactly one row."""

        constraints = (models.CheckConstraint(condition=Q(id=1), name="store_state_single"),)

    def __str__(self) -> str:
        """As operators read it."""
        return self.incarnation
