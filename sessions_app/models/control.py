"""Command, Signal and Wait: what people ask of a Turn, and what it waits for by name."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.contract.status import SignalKind, SignalStatus, WaitStatus
from sessions_app.models.fields import CanonicalJSON, choices, id_field
from sessions_app.models.session import Session
from sessions_app.models.tool import ToolCall
from sessions_app.models.turn import Turn


class Command(models.Model):
    """Receipt of an admitted request: same id and same digest, same receipt.

    Another digest is a conflict (R030).
    """

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="commands")
    request_id = models.CharField(max_length=200)
    operation = models.CharField(max_length=24)
    digest = models.CharField(max_length=80, help_text="of target, operation and canonical content")
    turn = models.ForeignKey(Turn, models.PROTECT, null=True, blank=True, related_name="+")
    receipt = CanonicalJSON()
    at = models.DateTimeField()

    class Meta:
        """The scope of request ids is the Session, over all operations (4.1 row 7)."""

        constraints = (
            models.UniqueConstraint(fields=("session", "request_id"), name="command_request"),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.operation} {self.request_id}"


class Signal(models.Model):
    """An input to a running Turn: steer, inject or an x.* signal."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="signals")
    ordinal = models.BigIntegerField(help_text="order of admission in the Session")
    kind = models.CharField(max_length=8, choices=choices(SignalKind))
    name = models.CharField(max_length=128, null=True, blank=True)
    request_id = models.CharField(max_length=200)
    content = CanonicalJSON()
    status = models.CharField(
        max_length=9, choices=choices(SignalStatus), default=SignalStatus.PENDING
    )
    applied_position = models.BigIntegerField(null=True, blank=True)
    applied_run = models.CharField(max_length=40, null=True, blank=True)
    at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """Applied says where."""

        constraints = (
            models.CheckConstraint(
                condition=~Q(status=SignalStatus.APPLIED) | Q(applied_position__isnull=False),
                name="signal_applied_where",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=list(SignalKind)) & Q(status__in=list(SignalStatus)),
                name="signal_words",
            ),
        )
        indexes = (
            models.Index(
                fields=("turn", "ordinal"),
                condition=Q(status=SignalStatus.PENDING),
                name="signal_open",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.kind} {self.status}"


class Wait(models.Model):
    """A wait condition: a key, and a deadline or none (R146). A signal of that key ends it."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="waits")
    call = models.ForeignKey(
        ToolCall,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="waits",
        help_text="the call that its end settles; without one the adapter reads it as an input",
    )
    key = models.CharField(max_length=128)
    status = models.CharField(max_length=9, choices=choices(WaitStatus), default=WaitStatus.OPEN)
    deadline_at = models.DateTimeField(null=True, blank=True, help_text="none: signal only")
    signal = models.ForeignKey(
        Signal,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="what ended it; of an expired one, the deadline's own signal",
    )
    opened_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """A signal ends one wait at most; what has ended says when."""

        constraints = (
            models.CheckConstraint(condition=Q(status__in=list(WaitStatus)), name="wait_status"),
            models.CheckConstraint(
                condition=Q(status=WaitStatus.OPEN, ended_at=None)
                | (~Q(status=WaitStatus.OPEN) & Q(ended_at__isnull=False)),
                name="wait_ended_at",
            ),
            models.UniqueConstraint(
                fields=("signal",), condition=Q(signal__isnull=False), name="wait_one_signal"
            ),
        )
        indexes = (
            models.Index(
                fields=("turn", "deadline_at"),
                condition=Q(status=WaitStatus.OPEN),
                name="wait_open",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.key} {self.status}"
