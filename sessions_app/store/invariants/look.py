"""What every rule of one check shares: the moment, the bounds, Sessions in small batches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.db import connection
from django.db.models import Q

from hands_app.contract.strict_json import JsonValue
from sessions_app.models import Event, Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sessions_app.contract.events import EventType

SESSIONS: Final = 500
ROWS: Final = 1000
BODIES: Final = 100
"""Rows with a body, which may be large, are read so many at a time."""

Facts = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some hundred Sessions, neighbours by id: those behind the first id, through the last."""

    behind: str
    through: str

    def within(self, column: str = "session_id") -> Q:
        """Select the rows whose column names one of these Sessions."""
        return Q((f"{column}__gt", self.behind), (f"{column}__lte", self.through))


@dataclass(frozen=True)
class Look:
    """One check: how long what is due may lie (I41), and how long a transaction may rest (I42)."""

    now: datetime
    patience: timedelta
    rest: timedelta = timedelta(seconds=1)

    @property
    def parameters(self) -> dict[str, Any]:
        """Named parameters of the statements, in the database's own form."""
        moment = connection.ops.adapt_datetimefield_value
        overdue, idle = self.now - self.patience, self.now - self.rest
        return {"overdue": moment(overdue), "idle": moment(idle)}

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """All Sessions, some hundred at a time."""
        return tuple(_batches())


def _batches() -> Iterator[Batch]:
    last = ""
    while True:
        ids = Session.objects.filter(id__gt=last).order_by("id").values_list("id", flat=True)
        some = list(ids[:SESSIONS])
        if not some:
            return
        yield Batch(last, some[-1])
        last = some[-1]


@dataclass(frozen=True, slots=True)
class Fact:
    """One event of the timeline."""

    session: str
    sequence: int
    type: str
    thread: str | None
    turn: str
    run: str | None
    payload: Facts
    at: datetime


def facts(batch: Batch, *types: EventType) -> Iterator[Fact]:
    """Give the events of these types, each Session's in the order of its timeline."""
    columns = ("session_id", "sequence", "type", "thread_id", "turn_id", "run_id", "payload", "at")
    found = Event.objects.filter(batch.within(), type__in=types).order_by("session_id", "sequence")
    for row in found.values_list(*columns).iterator(chunk_size=ROWS):
        yield Fact(*row)


def pruned(batch: Batch) -> frozenset[str]:
    """Give the Sessions whose first events were pruned: what is missing there proves nothing."""
    found = Session.objects.filter(batch.within("id"), pruned_through__gt=0)
    return frozenset(found.values_list("id", flat=True))
