"""Turn: a submitted task, the thing to save, watch and control (R004). Read this file first."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from sessions_app.contract.status import TERMINAL, TurnStatus, WaitReason
from sessions_app.models.fields import CanonicalJSON, choices, id_field
from sessions_app.models.session import Session
from sessions_app.models.thread import Thread


class Turn(models.Model):
    """A task accepted once. What may happen to it is listed in `machine/table.py`."""

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="turns")
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="turns")
    ordinal = models.BigIntegerField(help_text="order of admission in the Session")
    request_id = models.CharField(max_length=200)
    input = CanonicalJSON()
    input_digest = models.CharField(max_length=80)
    status = models.CharField(max_length=10, choices=choices(TurnStatus), default=TurnStatus.QUEUED)
    revision = models.IntegerField(
        default=1, help_text="raised by one with each change of status (I2)"
    )
    reason = models.CharField(max_length=16, choices=choices(WaitReason), null=True, blank=True)
    run_id = models.CharField(max_length=40, null=True, blank=True, help_text="open Run")
    last_change = models.CharField(
        max_length=40, null=True, blank=True, help_text="newest change id (S7)"
    )

    pause_request = models.CharField(max_length=200, null=True, blank=True)
    cancel_request = models.CharField(max_length=200, null=True, blank=True)
    wait_deadline = models.DateTimeField(null=True, blank=True, help_text="earliest open deadline")

    # Recovery record (R153); null before the first failure
    policy_retries = models.IntegerField(null=True, blank=True)
    policy_first_ms = models.IntegerField(null=True, blank=True)
    policy_max_ms = models.IntegerField(null=True, blank=True)
    failures = models.IntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)
    error_class = models.CharField(max_length=128, null=True, blank=True)
    error_code = models.CharField(max_length=64, null=True, blank=True)
    error_text = models.CharField(max_length=2000, null=True, blank=True)
    failed_for_good = models.BooleanField(
        default=False, help_text="effects settle, then FAILED (R159, R160)"
    )

    # Processes that it took down, apart from failures (S5)
    deaths = models.IntegerField(
        default=0, help_text="in a row; zero with the next committed progress"
    )
    held_until = models.DateTimeField(
        null=True, blank=True, help_text="no claim before this after deaths"
    )
    suspect = models.BooleanField(default=False, help_text="held until an operator releases it")
    takeovers = models.IntegerField(default=0)

    # Accounting
    rounds = models.IntegerField(default=0, help_text="reasoning rounds over all Runs (R062)")
    round_limit = models.IntegerField(
        null=True, blank=True, help_text="null: whoever claims it first knows the definition's"
    )
    token_limit = models.BigIntegerField(
        null=True, blank=True, help_text="of known input and output tokens; null: none"
    )
    requests = models.IntegerField(default=0)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)
    usage_complete = models.BooleanField(default=True)

    result = CanonicalJSON(null=True, blank=True)
    parent_turn = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="children"
    )
    parent_execution = models.CharField(max_length=40, null=True, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """At most one started, unfinished Turn a Thread (I3).

        Terminal means finished, and the other way round.
        """

        constraints = (
            models.UniqueConstraint(fields=("thread", "ordinal"), name="turn_order"),
            models.UniqueConstraint(
                fields=("thread",),
                condition=Q(started_at__isnull=False, finished_at=None),
                name="turn_one_started",
            ),
            models.CheckConstraint(condition=Q(status__in=list(TurnStatus)), name="turn_status"),
            models.CheckConstraint(
                condition=Q(status__in=sorted(TERMINAL), finished_at__isnull=False)
                | (~Q(status__in=sorted(TERMINAL)) & Q(finished_at=None)),
                name="turn_finished_at",
            ),
            models.CheckConstraint(
                condition=~Q(status=TurnStatus.WAITING) | Q(reason__isnull=False),
                name="turn_waits_for_something",
            ),
            models.CheckConstraint(
                condition=Q(run_id=None)
                | Q(status__in=[TurnStatus.RUNNING, TurnStatus.PAUSING, TurnStatus.CANCELLING]),
                name="turn_runs_when_active",
            ),
            models.CheckConstraint(
                condition=Q(policy_retries=None, failures=0)
                | (Q(policy_retries__isnull=False) & Q(failures__lte=F("policy_retries") + 1)),
                name="turn_failures_in_policy",
            ),
            models.CheckConstraint(
                condition=~Q(status=TurnStatus.COMPLETED) | Q(result__isnull=False),
                name="turn_completed_has_result",
            ),
        )
        indexes = (
            models.Index(
                fields=("thread", "ordinal"),
                condition=Q(finished_at=None),
                name="turn_open_by_order",
            ),
            models.Index(fields=("session", "id"), name="turn_by_session"),
            models.Index(
                fields=("parent_execution",),
                condition=Q(parent_execution__isnull=False),
                name="turn_by_parent",
            ),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.id} {self.status}"

    @property
    def is_terminal(self) -> bool:
        """True when it has ended and never starts again (R053)."""
        return self.status in TERMINAL
