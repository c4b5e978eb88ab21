"""JournalEntry and Checkpoint: private native state.

Incremental: no row repeats what an earlier one holds (C40).
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.contract.status import CheckpointKind, EntryKind
from sessions_app.models.fields import PackedJSON, choices, id_field
from sessions_app.models.session import Session
from sessions_app.models.thread import Thread
from sessions_app.models.turn import Turn


class JournalEntry(models.Model):
    """One private fact.

    Native history items, or a completed model outcome under (turn, path, ordinal).
    """

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="journal")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="journal")
    position = models.BigIntegerField(help_text="counts in the Thread, from one")
    kind = models.CharField(max_length=8, choices=choices(EntryKind))
    path = models.CharField(max_length=128, default="main")
    ordinal = models.IntegerField(null=True, blank=True)
    request_digest = models.CharField(max_length=80, null=True, blank=True)
    body = PackedJSON(null=True, blank=True)
    object_ref = models.CharField(max_length=200, null=True, blank=True)
    token = models.CharField(max_length=64, help_text="of the lease it was written under (I7)")
    at = models.DateTimeField()

    class Meta:
        """An outcome is stored once; a body is here or in the object store."""

        verbose_name_plural = "journal entries"

        constraints = (
            models.UniqueConstraint(fields=("thread", "position"), name="journal_position"),
            models.UniqueConstraint(
                fields=("turn", "path", "ordinal"),
                condition=Q(kind=EntryKind.OUTCOME),
                name="journal_outcome_once",
            ),
            models.CheckConstraint(
                condition=~Q(kind=EntryKind.OUTCOME)
                | Q(ordinal__isnull=False, request_digest__isnull=False),
                name="journal_outcome_has_key",
            ),
            models.CheckConstraint(
                condition=Q(body__isnull=False, object_ref=None)
                | Q(body=None, object_ref__isnull=False),
                name="journal_one_body",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.position} {self.kind}"


class Checkpoint(models.Model):
    """A position from which recovery can go on, with the frame that is checked before (R131)."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="checkpoints")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="+")
    ordinal = models.BigIntegerField(help_text="counts in the Thread, from one")
    position = models.BigIntegerField(help_text="newest journal entry that it contains")
    kind = models.CharField(max_length=8, choices=choices(CheckpointKind))
    format = models.IntegerField()
    harness = models.CharField(max_length=64)
    framework = models.CharField(max_length=128)
    definition = models.CharField(max_length=128)
    version = models.CharField(max_length=128)
    state_version = models.IntegerField()
    body = PackedJSON(null=True, blank=True)
    object_ref = models.CharField(max_length=200, null=True, blank=True)
    digest = models.CharField(max_length=80)
    token = models.CharField(max_length=64, help_text="of the lease it was written under (I7)")
    at = models.DateTimeField()

    class Meta:
        """Never null (R132)."""

        constraints = (
            models.UniqueConstraint(fields=("thread", "ordinal"), name="checkpoint_order"),
            models.CheckConstraint(
                condition=Q(body__isnull=False, object_ref=None)
                | Q(body=None, object_ref__isnull=False),
                name="checkpoint_one_body",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.ordinal} {self.kind} at {self.position}"
