"""Event and Message.

The public timeline, and the history that survives its pruning (R070, R082).
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.models.fields import CanonicalJSON, id_field
from sessions_app.models.session import Session
from sessions_app.models.thread import Thread
from sessions_app.models.turn import Turn


class Event(models.Model):
    """One persisted public fact. A stored event never changes (I19)."""

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, models.PROTECT, related_name="events")
    sequence = models.BigIntegerField()
    type = models.CharField(max_length=128)
    thread_id = models.CharField(
        max_length=128, null=True, blank=True, help_text="public thread id"
    )
    turn_id = models.CharField(max_length=40, null=True, blank=True)
    run_id = models.CharField(max_length=40, null=True, blank=True)
    payload = CanonicalJSON(default=dict)
    at = models.DateTimeField()

    class Meta:
        """Gapless and unique in a Session (I18)."""

        constraints = (
            models.UniqueConstraint(fields=("session", "sequence"), name="event_sequence"),
            models.CheckConstraint(condition=Q(sequence__gte=1), name="event_from_one"),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.sequence} {self.type}"


class Message(models.Model):
    """One logical message; its id stays when Run or Step change (R072)."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="messages")
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="messages")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="messages")
    role = models.CharField(max_length=10, choices=[("user", "user"), ("assistant", "assistant")])
    ordinal = models.IntegerField(
        help_text="of the model outcome (assistant) or of the input (user)"
    )
    input_kind = models.CharField(max_length=10, null=True, blank=True)
    request_id = models.CharField(max_length=200, null=True, blank=True)
    run_id = models.CharField(
        max_length=40, null=True, blank=True, help_text="Run that completed it; none: of a person"
    )
    interaction_id = models.CharField(
        max_length=40, null=True, blank=True, help_text="that this message answered (R038)"
    )
    attempt = models.IntegerField(default=1)
    revision = models.IntegerField(default=1)
    parts = CanonicalJSON()
    sequence = models.BigIntegerField(
        help_text="first public sequence; history orders by it (R075)"
    )
    at = models.DateTimeField()

    class Meta:
        """One row for each logical message."""

        constraints = (
            models.UniqueConstraint(
                fields=("turn", "ordinal"), condition=Q(role="assistant"), name="message_of_outcome"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["user", "assistant"]), name="message_role"
            ),
        )
        indexes = (models.Index(fields=("thread", "sequence"), name="message_history"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.role} {self.ordinal}"
