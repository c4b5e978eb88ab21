"""Run, Step and ModelCall: what really executed, for diagnosis (R059 to R068)."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from sessions_app.contract.status import ModelCallStatus, RunStatus, StepPhase, StepStatus
from sessions_app.models.fields import choices, id_field
from sessions_app.models.session import Session
from sessions_app.models.thread import Thread
from sessions_app.models.turn import Turn


class Run(models.Model):
    """One in-process invocation; a takeover adds another one, never a second Turn (R005)."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="runs")
    ordinal = models.IntegerField()
    status = models.CharField(max_length=12, choices=choices(RunStatus), default=RunStatus.OPEN)
    host = models.CharField(max_length=40)
    token = models.CharField(max_length=64)
    reason = models.CharField(max_length=500, null=True, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """At most one open Run a Turn (I5); no token is issued twice (I6)."""

        constraints = (
            models.UniqueConstraint(fields=("turn", "ordinal"), name="run_order"),
            models.UniqueConstraint(
                fields=("turn",), condition=Q(status=RunStatus.OPEN), name="run_one_open"
            ),
            models.UniqueConstraint(fields=("token",), name="run_token_once"),
            models.CheckConstraint(condition=Q(status__in=list(RunStatus)), name="run_status"),
            models.CheckConstraint(
                condition=Q(status=RunStatus.OPEN, ended_at=None)
                | (~Q(status=RunStatus.OPEN) & Q(ended_at__isnull=False)),
                name="run_ended_at",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.id} {self.status}"


class Step(models.Model):
    """One phase of a Run."""

    id = id_field()
    run = models.ForeignKey(Run, models.PROTECT, related_name="steps")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="+")
    ordinal = models.IntegerField()
    phase = models.CharField(max_length=12, choices=choices(StepPhase))
    status = models.CharField(max_length=10, choices=choices(StepStatus), default=StepStatus.OPEN)
    resumed_from = models.CharField(max_length=40, null=True, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """At most one open Step a Run."""

        constraints = (
            models.UniqueConstraint(fields=("run", "ordinal"), name="step_order"),
            models.UniqueConstraint(
                fields=("run",), condition=Q(status=StepStatus.OPEN), name="step_one_open"
            ),
            models.CheckConstraint(
                condition=Q(phase__in=list(StepPhase)) & Q(status__in=list(StepStatus)),
                name="step_words",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.phase} {self.status}"


class ModelCall(models.Model):
    """One logical model request as observed; a LOST one keeps null counts for ever (R068)."""

    id = id_field()
    run = models.ForeignKey(Run, models.PROTECT, related_name="model_calls")
    step = models.ForeignKey(
        Step, models.PROTECT, related_name="model_calls", null=True, blank=True
    )
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="model_calls")
    path = models.CharField(max_length=128, default="main")
    ordinal = models.IntegerField()
    attempt = models.IntegerField(
        default=1, help_text="raised when the model is asked again (R072)"
    )
    status = models.CharField(max_length=10, choices=choices(ModelCallStatus))
    level = models.CharField(max_length=20, default="MODEL_CALL")
    model = models.CharField(max_length=200, blank=True, default="")
    request_digest = models.CharField(max_length=80, blank=True, default="")
    requests = models.IntegerField(null=True, blank=True)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)
    cached_tokens = models.BigIntegerField(null=True, blank=True)
    reasoning_tokens = models.BigIntegerField(null=True, blank=True)
    duration_ms = models.IntegerField(null=True, blank=True)
    error_code = models.CharField(max_length=64, null=True, blank=True)
    at = models.DateTimeField()

    class Meta:
        """One completed outcome for each (turn, path, ordinal)."""

        constraints = (
            models.UniqueConstraint(
                fields=("turn", "path", "ordinal", "attempt"), name="model_call_attempt"
            ),
            models.UniqueConstraint(
                fields=("turn", "path", "ordinal"),
                condition=Q(status=ModelCallStatus.COMPLETED),
                name="model_call_completed_once",
            ),
            models.CheckConstraint(
                condition=Q(status__in=list(ModelCallStatus)), name="model_call_status"
            ),
            models.CheckConstraint(
                condition=~Q(status=ModelCallStatus.LOST)
                | Q(input_tokens=None, output_tokens=None, requests=None),
                name="model_call_lost_is_unknown",
            ),
            models.CheckConstraint(
                condition=(
                    Q(cached_tokens=None)
                    | Q(input_tokens__isnull=False, cached_tokens__lte=F("input_tokens"))
                )
                & (
                    Q(reasoning_tokens=None)
                    | Q(output_tokens__isnull=False, reasoning_tokens__lte=F("output_tokens"))
                ),
                name="model_call_details_in_totals",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.path} {self.ordinal} {self.status}"
