"""Thread: the running context of one agent, its lease and the one column that drives everything.

`wake_at`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
from sessions_app.contract.status import Lifecycle
from sessions_app.models.fields import CanonicalJSON, choices, id_field
from sessions_app.models.session import Session


class Thread(models.Model):
    """Turns of one Thread run strictly in order of admission (R033).

    The definition is pinned (R025).
    """

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="threads")
    thread_id = models.CharField(max_length=128)
    namespace = models.CharField(
        max_length=128, help_text="copy of the Session's, so that claims take turns by it"
    )
    status = models.CharField(max_length=8, choices=choices(Lifecycle), default=Lifecycle.OPEN)
    definition = models.CharField(max_length=128)
    version = models.CharField(max_length=128)
    state_version = models.IntegerField(default=1)
    definition_digest = models.CharField(
        max_length=80,
        blank=True,
        default="",
        help_text="content of the definition at the first claim",
    )
    journal_position = models.BigIntegerField(default=0, help_text="newest journal entry")
    checkpoint_position = models.BigIntegerField(
        default=0, help_text="newest journal entry in the checkpoint"
    )
    lease_host = models.CharField(max_length=40, null=True, blank=True)
    lease_token = models.CharField(max_length=64, null=True, blank=True)
    lease_epoch = models.BigIntegerField(
        default=0, help_text="counter part of the token; never falls (I6)"
    )
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    wake_at = models.DateTimeField(
        null=True, blank=True, help_text="when a scanner should look; computed (S2)"
    )
    incompatible_reason = models.CharField(max_length=500, null=True, blank=True)
    incompatible_builds = CanonicalJSON(default=list)
    incompatible_count = models.IntegerField(default=0)
    incompatible_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """The ready index keeps one definition's or namespace's backlog from hiding another's."""

        constraints = (
            models.UniqueConstraint(fields=("session", "thread_id"), name="thread_key"),
            models.CheckConstraint(condition=Q(status__in=list(Lifecycle)), name="thread_status"),
            models.CheckConstraint(
                condition=Q(lease_token=None, lease_host=None, lease_expires_at=None)
                | Q(
                    lease_token__isnull=False,
                    lease_host__isnull=False,
                    lease_expires_at__isnull=False,
                ),
                name="thread_lease_whole_or_none",
            ),
            models.CheckConstraint(
                condition=Q(lease_expires_at=None) | Q(wake_at=models.F("lease_expires_at")),
                name="thread_leased_wakes_at_expiry",
            ),
            models.CheckConstraint(
                condition=Q(checkpoint_position__lte=models.F("journal_position")),
                name="thread_checkpoint_in_journal",
            ),
        )
        indexes = (
            models.Index(
                fields=("definition", "version", "state_version", "namespace", "wake_at"),
                condition=Q(wake_at__isnull=False),
                name="thread_ready",
            ),
            models.Index(
                fields=("lease_host",),
                condition=Q(lease_host__isnull=False),
                name="thread_by_lease_host",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.thread_id} of {self.session_id}"

    def key_in(self, session: SessionKey) -> ThreadKey:
        """Public identity, given the Session's."""
        return ThreadKey(session, self.thread_id)

    @property
    def pin(self) -> DefinitionKey:
        """The definition, version and state version that this Thread stays with."""
        return DefinitionKey(self.definition, self.version, self.state_version)
