"""Session: one conversation with its Threads and a single public timeline (R004)."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import Lifecycle
from sessions_app.models.fields import choices, id_field


class Session(models.Model):
    """The unit of locking: every change of anything inside takes this row's lock first (law 2)."""

    id = id_field()
    namespace = models.CharField(max_length=128)
    session_id = models.CharField(max_length=128)
    status = models.CharField(max_length=8, choices=choices(Lifecycle), default=Lifecycle.OPEN)
    last_sequence = models.BigIntegerField(default=0, help_text="newest event; gapless (law 3)")
    last_ordinal = models.BigIntegerField(default=0, help_text="newest admission, over all Threads")
    pruned_through = models.BigIntegerField(default=0, help_text="events up to here were pruned")
    keep_events = models.IntegerField(
        null=True, blank=True, help_text="retention by count; null: the deployment's"
    )
    keep_seconds = models.BigIntegerField(
        null=True, blank=True, help_text="retention by age; null: the deployment's"
    )
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """Constraints double the machine's rules."""

        constraints = (
            models.UniqueConstraint(fields=("namespace", "session_id"), name="session_key"),
            models.CheckConstraint(condition=Q(status__in=list(Lifecycle)), name="session_status"),
            models.CheckConstraint(
                condition=Q(pruned_through__gte=0) & Q(pruned_through__lte=F("last_sequence")),
                name="session_pruned_below_newest",
            ),
            models.CheckConstraint(
                condition=Q(status=Lifecycle.OPEN, closed_at=None)
                | Q(status=Lifecycle.CLOSED, closed_at__isnull=False),
                name="session_closed_at",
            ),
        )
        indexes = (models.Index(fields=("namespace", "id"), name="session_by_namespace"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.namespace}/{self.session_id}"

    @property
    def key(self) -> SessionKey:
        """Public identity."""
        return SessionKey(self.namespace, self.session_id)
