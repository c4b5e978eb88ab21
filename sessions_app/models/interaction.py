"""Interaction and StandingRule: what a Turn asks of people, and answers that they gave ahead."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.contract.status import InteractionKind, InteractionStatus
from sessions_app.models.fields import CanonicalJSON, choices, id_field
from sessions_app.models.session import Session
from sessions_app.models.tool import ToolCall
from sessions_app.models.turn import Turn


class StandingRule(models.Model):
    """An answer given ahead to later approvals; it expires, can be revoked, and is audited.

    A scope that is null covers all: of the namespace's definitions, Sessions or arguments.
    """

    id = id_field()
    namespace = models.CharField(max_length=128)
    definition = models.CharField(max_length=128, null=True, blank=True)
    session = models.ForeignKey(Session, models.PROTECT, null=True, blank=True, related_name="+")
    tool = models.CharField(max_length=128)
    arguments_digest = models.CharField(
        max_length=80, null=True, blank=True, help_text="of exactly these arguments"
    )
    allow = models.BooleanField(help_text="allow, or deny")
    reason = models.CharField(max_length=2000, blank=True, default="")
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=128, null=True, blank=True)

    class Meta:
        """Rules in force are looked up by namespace and tool."""

        constraints = (
            models.CheckConstraint(
                condition=Q(revoked_at=None, revoked_by=None)
                | Q(revoked_at__isnull=False, revoked_by__isnull=False),
                name="rule_revoked_by",
            ),
        )
        indexes = (
            models.Index(
                fields=("namespace", "tool"),
                condition=Q(revoked_at=None),
                name="rule_in_force",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{'allow' if self.allow else 'deny'} {self.tool}"


class Interaction(models.Model):
    """An approval or a manual result that a person gives.

    Answered once, consumed once, bound to a digest (I35).
    """

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="interactions")
    call = models.ForeignKey(ToolCall, models.PROTECT, related_name="interactions")
    kind = models.CharField(max_length=8, choices=choices(InteractionKind))
    status = models.CharField(
        max_length=8, choices=choices(InteractionStatus), default=InteractionStatus.OPEN
    )
    arguments_digest = models.CharField(max_length=80)
    risk = models.CharField(max_length=16, blank=True, default="")
    assignee = models.CharField(max_length=128, blank=True, default="")
    reason = models.CharField(max_length=2000, blank=True, default="")
    answer = CanonicalJSON(null=True, blank=True)
    answered_by = models.CharField(max_length=128, null=True, blank=True)
    request_id = models.CharField(max_length=200, null=True, blank=True)
    rule = models.ForeignKey(
        StandingRule,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="answered",
        help_text="the standing rule that answered it",
    )
    set_aside_at = models.DateTimeField(null=True, blank=True, help_text="put off; it stays open")
    set_aside_by = models.CharField(max_length=128, null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, blank=True)
    consumed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One open interaction for each call and kind; consumed only after answered."""

        constraints = (
            models.UniqueConstraint(fields=("call", "kind"), name="interaction_of_call"),
            models.CheckConstraint(
                condition=Q(consumed_at=None) | Q(answered_at__isnull=False),
                name="interaction_consumed_after_answer",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[InteractionStatus.ANSWERED, InteractionStatus.CONSUMED])
                | Q(answered_at=None),
                name="interaction_decided_when",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=list(InteractionKind)) & Q(status__in=list(InteractionStatus)),
                name="interaction_words",
            ),
        )
        indexes = (
            models.Index(
                fields=("turn",),
                condition=Q(status=InteractionStatus.OPEN),
                name="interaction_open",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.kind} {self.status}"
