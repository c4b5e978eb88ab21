"""Pruning: old events go, one Session a transaction, under its lock; views lose nothing (S13, S19).

The floor is raised and the events below it are deleted in the same transaction, so that a reader
either gets every event behind its cursor or hears that it has expired (I24).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db.models import Min, OuterRef, Subquery

from sessions_app.machine import retention
from sessions_app.machine.retention import BATCH, Keep, Stamp
from sessions_app.models import Event, Message, Session, StoreState
from sessions_app.store import clock, reads, roles
from sessions_app.store.looking import look, snapshot
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sessions_app.contract.identity import SessionKey
    from sessions_app.store.unit import Unit

LOOK_AT: Final = 500
"""Sessions that one statement looks at."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went, or would go, of one Session."""

    key: SessionKey
    events: int
    pruned_through: int
    last_sequence: int


def retain(key: SessionKey, keep: Keep) -> None:
    """Give a Session bounds of its own; None leaves one to the deployment. Raises NotFound."""

    def body(unit: Unit) -> None:
        session = unit.lock_session(key)
        session.keep_events, session.keep_seconds = keep.events, keep.seconds

    run("session.prune", body)


def prune(key: SessionKey) -> Pruned:
    """Prune one Session as far as its retention says, in bounded transactions (R070).

    Raises NotFound, Unavailable, and Forbidden where the database's role may not delete events.
    """
    done = _batch(key)
    events = done.events
    while done.events == BATCH:
        done = _batch(key)
        events += done.events
    return replace(done, events=events)


def some_due(sessions: int) -> list[SessionKey]:
    """Look at so many Sessions, behind where the last such look ended, for what may be pruned.

    Any number of processes may do this at once.
    """
    found, last = _due(StoreState.objects.get().pruned_to, sessions)
    StoreState.objects.update(pruned_to=last)
    return found


def due() -> Iterator[SessionKey]:
    """All Sessions of which something may go now."""
    behind = ""
    while True:
        some, behind = _due(behind, LOOK_AT)
        yield from some
        if not behind:
            return


@look
def plan(key: SessionKey) -> Pruned:
    """What `prune` would do now. Writes nothing."""
    with snapshot():
        session, now = reads.session_row(key), clock.now()
        through, begin = session.pruned_through, session.pruned_through
        while (further := _floor(session, now)) > through:
            session.pruned_through = through = further
    return Pruned(key, through - begin, through, session.last_sequence)


def _batch(key: SessionKey) -> Pruned:
    def body(unit: Unit) -> Pruned:
        session = unit.lock_session(key)
        through, begin = _floor(session, unit.now), session.pruned_through
        if through > begin:
            session.pruned_through = through
            Event.objects.filter(session=session, sequence__lte=through).delete()
        return Pruned(key, through - begin, through, session.last_sequence)

    with roles.deleting():
        return run("session.prune", body)


def _floor(session: Session, now: datetime) -> int:
    rows = Event.objects.filter(session=session, sequence__gt=session.pruned_through)
    oldest = rows.order_by("sequence").values_list("sequence", "at")[:BATCH]
    stamps = [Stamp(*row) for row in oldest]
    return retention.floor(session, _deployment(), stamps, _unfinished_from(session), now)


def _unfinished_from(session: Session) -> int | None:
    """The first event of the oldest unfinished Turn: the one before its first message."""
    open_ = Message.objects.filter(session=session, turn__finished_at=None)
    first: int | None = open_.aggregate(first=Min("sequence"))["first"]
    return None if first is None else first - 1


@look
def _due(behind: str, limit: int) -> tuple[list[SessionKey], str]:
    """Of the next Sessions by id, those that are due; and the last id looked at, none at the end.

    The oldest event of each is one look into an index.
    """
    first = Event.objects.filter(session=OuterRef("pk"), sequence=OuterRef("pruned_through") + 1)
    rows = Session.objects.filter(pk__gt=behind).order_by("pk")
    seen = list(rows.annotate(oldest_at=Subquery(first.values("at")))[:limit])
    keep, now = _deployment(), clock.now()
    found = [
        row.key
        for row in seen
        if retention.may_be_due(row, keep, row.oldest_at, now)
        and _floor(row, now) > row.pruned_through
    ]
    return found, seen[-1].pk if len(seen) == limit else ""


def _deployment() -> Keep:
    return Keep(settings.DURABLE["KEEP_EVENTS"], settings.DURABLE["KEEP_SECONDS"])
