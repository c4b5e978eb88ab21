"""Retention: up to which event a Session's timeline is pruned, and how far at once (4.1 row 15).

Two bounds, each none or a number: how many events stay, and for how long. The count is hard. Age
spares the events of unfinished Turns, which may wait for months: who watches one finds its story
whole from its admission on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sessions_app.models import Session

BATCH: Final = 1000
"""Events that one transaction deletes at most."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How many events stay, and for how long; None is without bound."""

    events: int | None = None
    seconds: int | None = None

    def __post_init__(self) -> None:
        """Raise Invalid for what is no bound or below zero; zero keeps nothing that may go."""
        if not (_is_bound(self.events) and _is_bound(self.seconds)):
            msg = f"{self!r:.200} is no retention: bounds are none, zero or more"
            raise Invalid(msg)

    def of(self, session: Session) -> Keep:
        """The Session's own bounds, and these where it has none."""
        return Keep(
            self.events if session.keep_events is None else session.keep_events,
            self.seconds if session.keep_seconds is None else session.keep_seconds,
        )


def _is_bound(value: object) -> bool:
    return value is None or (isinstance(value, int) and value >= 0)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Number and time of one event."""

    sequence: int
    at: datetime


def may_be_due(session: Session, keep: Keep, oldest_at: datetime | None, now: datetime) -> bool:
    """Whether a closer look is worth it; `oldest_at` is the time of the oldest event left."""
    own = keep.of(session)
    if oldest_at is None:
        return False
    left = session.last_sequence - session.pruned_through
    old = own.seconds is not None and oldest_at <= now - timedelta(seconds=own.seconds)
    return old or (own.events is not None and left > own.events)


def floor(
    session: Session,
    keep: Keep,
    oldest: Sequence[Stamp],
    unfinished_from: int | None,
    now: datetime,
) -> int:
    """The sequence through which the timeline may go; the present floor if nothing may.

    `oldest` are the oldest events that are left, in order, at most a batch: so is what goes.
    `unfinished_from` is the first event of the oldest unfinished Turn.
    """
    own = keep.of(session)
    too_many = 0 if own.events is None else session.last_sequence - own.events
    too_old = _too_old(own, oldest, unfinished_from, now)
    may_go = [stamp.sequence for stamp in oldest if stamp.sequence <= max(too_many, too_old)]
    return max(may_go, default=session.pruned_through)


def _too_old(own: Keep, oldest: Sequence[Stamp], unfinished_from: int | None, now: datetime) -> int:
    """The newest of the leading events that are all past their time and of no unfinished Turn."""
    if own.seconds is None:
        return 0
    through, limit = 0, now - timedelta(seconds=own.seconds)
    for stamp in oldest:
        spared = unfinished_from is not None and stamp.sequence >= unfinished_from
        if stamp.at > limit or spared:
            break
        through = stamp.sequence
    return through
