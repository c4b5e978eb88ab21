"""Handles over HTTP: made of ids alone, with the methods of those in the same process (R118)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sessions_app.client import observing
from sessions_app.client.reading import Handle, content_of
from sessions_app.client.turns import TurnHandle
from sessions_app.contract.events import EVERYTHING, EventFilter, EventView
from sessions_app.contract.identity import MAIN_THREAD, SessionKey, ThreadKey
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.contract.views import (
    MessageView,
    Receipt,
    SessionView,
    ThreadView,
    TurnView,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.contract.observing import Observed, SessionEventClient
    from sessions_app.contract.paging import EventPage, Page
    from sessions_app.contract.snapshot import Snapshot
    from sessions_app.streaming.subscriptions import Listener, OnError, Subscription


@dataclass(frozen=True, slots=True)
class SessionHandle(Handle):
    """One conversation; what needs a Thread goes to the main one."""

    key: SessionKey

    @property
    def path(self) -> str:
        """Its address below the API."""
        return f"/namespaces/{self.key.namespace}/sessions/{self.key.session_id}"

    @property
    def main(self) -> ThreadHandle:
        """The Thread that came with the Session."""
        return ThreadHandle(self.transport, self.key.thread(MAIN_THREAD))

    def submit(
        self, request_id: str, content: object, policy: str = SubmitPolicy.QUEUE
    ) -> TurnHandle:
        """Ask the main Thread for a Turn."""
        return self.main.submit(request_id, content, policy)

    def view(self) -> SessionView:
        """The Session as it stands."""
        return self.view_of(SessionView, self.transport.get(self.path))

    def get_thread(self, thread_id: str) -> ThreadHandle:
        """A Thread of this Session; raises NotFound."""
        found = ThreadHandle(self.transport, self.key.thread(thread_id))
        found.view()
        return found

    def create_thread(self, thread_id: str, agent: str, version: str | None = None) -> ThreadHandle:
        """Make a Thread; an identical create adds none."""
        body = {"threadId": thread_id, "agent": agent, "version": version}
        self.transport.post(f"{self.path}/threads", body)
        return ThreadHandle(self.transport, self.key.thread(thread_id))

    def list_threads(self, cursor: str | None = None, limit: int = 100) -> Page[ThreadView]:
        """Threads, in the order in which they were made."""
        return self.page_of(ThreadView, f"{self.path}/threads", cursor, limit)

    def get_turn(self, turn_id: str) -> TurnHandle:
        """A Turn of any Thread of this Session; raises NotFound."""
        view = self.view_of(TurnView, self.transport.get(f"{self.path}/turns/{turn_id}"))
        return TurnHandle(self.transport, view.key, turn_id)

    def list_turns(self, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
        """Turns of all Threads."""
        return self.page_of(TurnView, f"{self.path}/turns", cursor, limit)

    def history(self, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
        """Messages of the main Thread."""
        return self.main.history(cursor, limit)

    def event_client(self, within: EventFilter = EVERYTHING) -> SessionEventClient:
        """Look by hand at the events of this Session, with `poll` (R113)."""
        return observing.event_client(self.transport, self.key, within)

    def list_events(
        self, cursor: str | None = None, limit: int = 100, within: EventFilter = EVERYTHING
    ) -> EventPage[EventView]:
        """Persisted events: of the whole Session gapless, of a part sparse."""
        return self.event_client(within).timeline.events(self.key, cursor, limit, within)

    def snapshot(self, within: EventFilter = EVERYTHING) -> Snapshot:
        """All that is public, or a Thread's, Turn's or Run's part, at one cursor."""
        return self.event_client(within).timeline.snapshot(self.key, within)

    def stream_events(
        self, cursor: str | None = None, within: EventFilter = EVERYTHING
    ) -> Iterator[Observed]:
        """Give what is behind a cursor, then what comes; comes again when the line breaks."""
        return observing.stream(self.transport, self.key, cursor, within)

    def subscribe_events(
        self,
        listener: Listener,
        cursor: str | None = None,
        within: EventFilter = EVERYTHING,
        *,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Have a function called with each item, on an observer thread, until it is closed."""
        client = self.event_client(within)
        return observing.subscribe(self.transport, client, listener, cursor, on_error)

    def close(self) -> None:
        """Close the Session and its Threads; raises Conflict while a Turn is unfinished."""
        self.transport.post(f"{self.path}/close")


@dataclass(frozen=True, slots=True)
class ThreadHandle(Handle):
    """The running context of one agent, with its ordered queue of Turns."""

    key: ThreadKey

    @property
    def path(self) -> str:
        """Its address below the API."""
        session = self.key.session
        return (
            f"/namespaces/{session.namespace}/sessions/{session.session_id}"
            f"/threads/{self.key.thread_id}"
        )

    def submit(
        self, request_id: str, content: object, policy: str = SubmitPolicy.QUEUE
    ) -> TurnHandle:
        """Ask for a Turn; a repeat of the same request finds the first one (R030)."""
        body = {"requestId": request_id, "input": content_of(content), "policy": str(policy)}
        receipt = self.view_of(Receipt, self.transport.post(f"{self.path}/turns", body))
        return TurnHandle(self.transport, self.key, receipt.turn_id, receipt)

    def view(self) -> ThreadView:
        """The Thread as it stands."""
        return self.view_of(ThreadView, self.transport.get(self.path))

    def list_turns(self, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
        """Turns in the order in which they run."""
        return self.page_of(TurnView, f"{self.path}/turns", cursor, limit)

    def history(self, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
        """Messages, in the order of their first public sequence."""
        return self.page_of(MessageView, f"{self.path}/messages", cursor, limit)

    def event_client(self) -> SessionEventClient:
        """Look by hand at the events of this Thread, with `poll` (R113)."""
        return observing.event_client(self.transport, self.key.session, self._scope())

    def list_events(self, cursor: str | None = None, limit: int = 100) -> EventPage[EventView]:
        """Persisted events of this Thread; sequences stay the Session's."""
        session = SessionHandle(self.transport, self.key.session)
        return session.list_events(cursor, limit, self._scope())

    def snapshot(self) -> Snapshot:
        """All that is public of this Thread, at one cursor."""
        return SessionHandle(self.transport, self.key.session).snapshot(self._scope())

    def stream_events(self, cursor: str | None = None) -> Iterator[Observed]:
        """Give what is behind a cursor, then what comes; comes again when the line breaks."""
        return observing.stream(self.transport, self.key.session, cursor, self._scope())

    def subscribe_events(
        self,
        listener: Listener,
        cursor: str | None = None,
        *,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Have a function called with each item, on an observer thread, until it is closed."""
        client = self.event_client()
        return observing.subscribe(self.transport, client, listener, cursor, on_error)

    def _scope(self) -> EventFilter:
        return EventFilter(self.key.thread_id)

    def close(self) -> None:
        """Take no more Turns; raises Conflict while one is unfinished."""
        self.transport.post(f"{self.path}/close")
