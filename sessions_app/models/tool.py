"""ToolCall: one view for local and external calls.

Intent, start, receipt and application are separate facts (R080).
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.contract.status import SETTLED_CALLS, CallState
from sessions_app.models.fields import CanonicalJSON, choices, id_field
from sessions_app.models.session import Session
from sessions_app.models.thread import Thread
from sessions_app.models.turn import Turn

_HAS_RESULT = [CallState.COMPLETED, CallState.FAILED, CallState.DENIED]


class ToolCall(models.Model):
    """A tool call that a model asked for.

    Its id is the execution id: derived, so a replay names the same one.
    """

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    thread = models.ForeignKey(Thread, models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, models.PROTECT, related_name="calls")
    call_id = models.CharField(
        max_length=200, help_text="as the model named it; may repeat over rounds (C52)"
    )
    ordinal = models.IntegerField(help_text="place in its reply")
    round = models.IntegerField(help_text="model ordinal of the reply that asked for it")
    name = models.CharField(max_length=128)
    arguments = CanonicalJSON()
    request_digest = models.CharField(
        max_length=80, help_text="of name, arguments and binding (I34)"
    )
    binding = CanonicalJSON()
    route = models.CharField(max_length=64)
    effect = models.CharField(max_length=12)
    state = models.CharField(max_length=12, choices=choices(CallState), default=CallState.INTENDED)
    attempts = models.IntegerField(default=0, help_text="start records")
    start_token = models.CharField(max_length=64, null=True, blank=True)
    origin_run = models.CharField(max_length=40)
    origin_step = models.CharField(max_length=40, null=True, blank=True)
    applied_run = models.CharField(max_length=40, null=True, blank=True)
    applied_step = models.CharField(max_length=40, null=True, blank=True)
    applied_position = models.BigIntegerField(null=True, blank=True)
    result = CanonicalJSON(null=True, blank=True)
    result_ref = models.CharField(
        max_length=200, null=True, blank=True, help_text="the object that a large result is in"
    )
    error_code = models.CharField(max_length=64, null=True, blank=True)
    intended_at = models.DateTimeField()
    allowed_at = models.DateTimeField(
        null=True, blank=True, help_text="since when it may begin; null: a person has to allow it"
    )
    started_at = models.DateTimeField(null=True, blank=True)
    received_at = models.DateTimeField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True)

    # External executions: outbox, inbox, control (S8, S9, S20)
    deliver_at = models.DateTimeField(
        null=True, blank=True, help_text="next time to send or to query"
    )
    deliveries = models.IntegerField(default=0)
    not_after = models.DateTimeField(
        null=True, blank=True, help_text="Hands starts nothing later (S8)"
    )
    dispatched_at = models.DateTimeField(null=True, blank=True)
    admitted_at = models.DateTimeField(null=True, blank=True)
    inbox_position = models.IntegerField(
        default=0, help_text="newest update of the contiguous prefix (R189)"
    )
    progress = CanonicalJSON(null=True, blank=True)
    output_bytes = models.BigIntegerField(
        default=0, help_text="how much output can be read, as Hands told last (R190)"
    )
    output_sealed = models.BooleanField(default=False, help_text="nothing is added any more")
    unread_code = models.CharField(
        max_length=64, null=True, blank=True, help_text="why its result could not be taken in"
    )
    unread_at = models.DateTimeField(null=True, blank=True, help_text="since when")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_accepted_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    child_turn = models.ForeignKey(Turn, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        """The database says the rules again.

        A result is whole, application follows receipt, UNKNOWN needs a start, and nothing begins
        or leaves that a person has to allow first (I35).
        """

        constraints = (
            models.UniqueConstraint(fields=("turn", "round", "ordinal"), name="call_place"),
            models.CheckConstraint(condition=Q(state__in=list(CallState)), name="call_state"),
            models.CheckConstraint(
                condition=Q(applied_at=None) | Q(state__in=sorted(SETTLED_CALLS)),
                name="call_applied_is_settled",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=[CallState.UNKNOWN, CallState.STARTED])
                | Q(started_at__isnull=False)
                | Q(dispatched_at__isnull=False)
                | Q(deliver_at__isnull=False),
                name="call_unknown_was_started",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=_HAS_RESULT) | Q(received_at__isnull=False),
                name="call_result_received",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=sorted(SETTLED_CALLS)) | Q(deliver_at=None),
                name="call_settled_sends_nothing",
            ),
            models.CheckConstraint(
                condition=Q(allowed_at__isnull=False)
                | Q(started_at=None, dispatched_at=None, deliver_at=None),
                name="call_begins_when_allowed",
            ),
            models.UniqueConstraint(
                fields=("child_turn",), condition=Q(child_turn__isnull=False), name="call_one_child"
            ),
        )
        indexes = (
            models.Index(
                fields=("deliver_at",), condition=Q(deliver_at__isnull=False), name="call_outbox"
            ),
            models.Index(fields=("turn", "state"), name="call_by_turn"),
        )

    def __str__(self) -> str:
        """As operators read it."""
        return f"{self.name} {self.state}"
