"""What an observer is given: one typed union (R083).

    match item:
        case Committed(event):
            projection.accept(event)
        case SnapshotReset(snapshot):
            projection.reset(snapshot)

Only `Committed` carries a cursor that the timeline knows; a `SnapshotReset` replaces everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from sessions_app.contract.errors import CursorExpired

if TYPE_CHECKING:
    from sessions_app.contract.events import EventFilter, EventView
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.paging import EventPage
    from sessions_app.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Committed:
    """A persisted event."""

    event: EventView
    kind: Literal["committed"] = field(default="committed", init=False)

    @property
    def cursor(self) -> str:
        """The position behind it."""
        return self.event.cursor


@dataclass(frozen=True, slots=True)
class SnapshotReset:
    """The position expired: what was folded so far is replaced by this (R095)."""

    snapshot: Snapshot
    kind: Literal["snapshot-reset"] = field(default="snapshot-reset", init=False)


Observed: TypeAlias = Committed | SnapshotReset


@dataclass(frozen=True, slots=True)
class Poll:
    """What one look found, and where the next one begins, also over what a filter left out."""

    items: tuple[Observed, ...]
    cursor: str | None
    is_at_end: bool


class Timeline(Protocol):
    """Whoever can read a Session's public facts: a store, or a site over HTTP."""

    def events(
        self, key: SessionKey, cursor: str | None, limit: int, within: EventFilter
    ) -> EventPage[EventView]:
        """Read as `list_events` does; raises CursorExpired, Invalid, NotFound, Unavailable."""
        ...

    def snapshot(self, key: SessionKey, within: EventFilter) -> Snapshot:
        """Read the state at one cursor; raises NotFound, Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class SessionEventClient:
    """Looks by hand, for whoever has a loop or an executor of its own (R113)."""

    timeline: Timeline
    key: SessionKey
    within: EventFilter

    def poll(self, cursor: str | None = None, limit: int = 100) -> Poll:
        """Look once behind a cursor; without one, from the oldest event that is kept.

        A cursor that expired gives a SnapshotReset and goes on from there. Starts nothing and
        keeps nothing; raises Invalid, NotFound, Unavailable.
        """
        try:
            page = self.timeline.events(self.key, cursor, limit, self.within)
        except CursorExpired:
            snapshot = self.timeline.snapshot(self.key, self.within)
            return Poll((SnapshotReset(snapshot),), snapshot.cursor, is_at_end=False)
        items = tuple(map(Committed, page.items))
        return Poll(items, page.next_cursor, page.through >= page.last_sequence)


def position(item: Observed) -> str | None:
    """Where whoever took this item goes on."""
    return item.cursor if isinstance(item, Committed) else item.snapshot.cursor
