"""EventProjection: public state that follows the events of one scope (R087, R094, I20).

    projection = EventProjection(session.snapshot())
    projection.accept_page(session.list_events(projection.cursor))

Pure, and the same for a server, a client and a test: a snapshot with all later events folded in is
the snapshot taken later.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sessions_app.contract import catalogue, folding
from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.events import EVERYTHING, EventFilter
from sessions_app.contract.folding import State
from sessions_app.contract.snapshot import Snapshot, nothing

if TYPE_CHECKING:
    from sessions_app.contract.events import EventView
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.paging import EventPage
    from sessions_app.contract.views import MessageView, ToolView


class EventProjection:
    """Folds events in order; what it has seen before changes nothing.

    The whole Session's takes every sequence and refuses a gap; a filtered one takes them as they
    come (R094). A Run's follows until the next Run of its Turn begins. Not safe under threads.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Begin with a snapshot."""
        self.reset(snapshot)

    @classmethod
    def of(cls, key: SessionKey, within: EventFilter = EVERYTHING) -> EventProjection:
        """Begin before the first event."""
        return cls(nothing(key, within))

    def reset(self, snapshot: Snapshot) -> None:
        """Replace everything: the answer to an expired cursor (R095)."""
        self.cursor, self.sequence = snapshot.cursor, snapshot.last_sequence
        self._base, self._state = snapshot, State.of(snapshot)

    def accept(self, event: EventView) -> bool:
        """Fold one event in; False when it is known already or out of scope.

        Raises CursorExpired for a gap in a whole Session: a new snapshot is needed then.
        """
        if event.sequence <= self.sequence:
            return False
        within = self._base.within
        if within == EVERYTHING and event.sequence != self.sequence + 1:
            msg = f"event {event.sequence} follows on {self.sequence}; take a snapshot"
            raise CursorExpired(msg)
        self.sequence, self.cursor = event.sequence, event.cursor
        if not within.admits(event):
            return False
        said = catalogue.typed(event.type, event.payload)
        if said is not None:
            folding.fold(self._state, event, said)
        return True

    def accept_page(self, page: EventPage[EventView]) -> None:
        """Fold a page in, and advance over what its filter left out (R093)."""
        for event in page.items:
            self.accept(event)
        if page.through > self.sequence:
            self.sequence, self.cursor = page.through, page.next_cursor

    def snapshot(self) -> Snapshot:
        """The state as it stands; later events do not change what was given."""
        state, session = self._state, self._state.session
        return replace(
            self._base,
            cursor=self.cursor,
            last_sequence=self.sequence,
            session=session and replace(session, last_sequence=self.sequence),
            threads=dict(state.threads),
            turns=dict(state.turns),
            messages={name: said for name, said in state.messages.items() if self._belongs(said)},
            tools={place: call for place, call in state.tools.items() if self._belongs(call)},
        )

    def _belongs(self, record: MessageView | ToolView) -> bool:
        return self._base.within.run_id in {None, record.run_id}
