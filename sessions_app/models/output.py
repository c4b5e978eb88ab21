"""OutputQuestion: somebody waits for a page of what a tool wrote (R190)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.models.fields import CanonicalJSON, id_field
from sessions_app.models.session import Session
from sessions_app.models.tool import ToolCall


class OutputQuestion(models.Model):
    """A command that asks Hands for a page; its id is the command's.

    Whoever asks and whoever takes the answer in are two processes: the page waits here for as long
    as it takes to be read, and goes then. It is private, like every output.
    """

    id = id_field()
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    call = models.ForeignKey(ToolCall, models.PROTECT, related_name="+")
    offset = models.BigIntegerField()
    limit = models.IntegerField()
    asked_at = models.DateTimeField()
    sent_at = models.DateTimeField(
        null=True, blank=True, help_text="null: a Brain has to ask its own executor"
    )
    answered_at = models.DateTimeField(null=True, blank=True)
    page = CanonicalJSON(null=True, blank=True)

    class Meta:
        """An answer is whole; the old ones are found by their time."""

        constraints = (
            models.CheckConstraint(
                condition=Q(answered_at=None) | Q(page__isnull=False), name="output_answer_whole"
            ),
        )
        indexes = (models.Index(fields=("asked_at",), name="output_by_time"),)

    def __str__(self) -> str:
        """As operators read it."""
        return f"output of {self.call_id} from {self.offset}"
