"""SessionHandle: one conversation; what needs a Thread goes to the main one, as R015 says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sessions_app.contract.events import EVERYTHING
from sessions_app.contract.identity import MAIN_THREAD
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.machine.retention import Keep
from sessions_app.runtime import definitions, observing
from sessions_app.runtime.threads import ThreadHandle
from sessions_app.runtime.turns import TurnHandle
from sessions_app.runtime.twins import twin
from sessions_app.store import admission, explaining, reads, retention, snapshots, timeline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from concurrent.futures import Future

    from sessions_app.contract.events import EventFilter, EventView
    from sessions_app.contract.explanation import CursorExplanation
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.observing import Observed, SessionEventClient
    from sessions_app.contract.paging import EventPage, Page
    from sessions_app.contract.snapshot import Snapshot
    from sessions_app.contract.views import MessageView, SessionView, ThreadView, TurnView
    from sessions_app.runtime.runtime import DurableRuntime
    from sessions_app.streaming.subscriptions import Listener, OnError, Subscription


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """Identity of one Session; any process may rebuild it from its ids (R009)."""

    key: SessionKey
    runtime: DurableRuntime = field(repr=False, compare=False)

    @property
    def main(self) -> ThreadHandle:
        """The Thread that came with the Session (R006)."""
        return ThreadHandle(self.key.thread(MAIN_THREAD), self.runtime)

    def submit(
        self, request_id: str, content: object, policy: str = SubmitPolicy.QUEUE
    ) -> TurnHandle:
        """Ask the main Thread for a Turn; see `ThreadHandle.submit`."""
        return self.main.submit(request_id, content, policy)

    def call(
        self,
        request_id: str,
        content: object,
        timeout: float | None = None,
        policy: str = SubmitPolicy.QUEUE,
    ) -> Future[TurnView]:
        """Submit to the main Thread; gives a future of the end, see `ThreadHandle.call`."""
        return self.main.call(request_id, content, timeout, policy)

    async def acall(
        self,
        request_id: str,
        content: object,
        timeout: float | None = None,  # noqa: ASYNC109 - the error of a deadline names Thread and Turn
        policy: str = SubmitPolicy.QUEUE,
    ) -> TurnView:
        """Submit to the main Thread and await the end."""
        return await self.main.acall(request_id, content, timeout, policy)

    def get_turn(self, turn_id: str) -> TurnHandle:
        """A Turn of any Thread of this Session; raises NotFound."""
        return TurnHandle(reads.turn(turn_id, self.key).key, turn_id, self.runtime)

    def list_turns(self, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
        """Turns of all Threads."""
        return reads.turns_of_session(self.key, cursor, limit)

    def history(self, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
        """Messages of the main Thread; other Threads have histories of their own (R055)."""
        return self.main.history(cursor, limit)

    def list_events(
        self, cursor: str | None = None, limit: int = 100, within: EventFilter = EVERYTHING
    ) -> EventPage[EventView]:
        """Persisted events: of the whole Session gapless, of a part sparse (R018, R084)."""
        return timeline.events(self.key, cursor, limit, within)

    def snapshot(self, within: EventFilter = EVERYTHING) -> Snapshot:
        """All that is public, or a Thread's, Turn's or Run's part, at one cursor (R087, R090)."""
        return snapshots.snapshot(self.key, within)

    def event_client(self, within: EventFilter = EVERYTHING) -> SessionEventClient:
        """Look by hand at the events of this Session, with `poll` (R113)."""
        return observing.event_client(self.key, within)

    def stream_events(
        self, cursor: str | None = None, within: EventFilter = EVERYTHING
    ) -> Iterator[Observed]:
        """Give what is behind a cursor, then what comes, until the runtime is closed (R105).

        Without a cursor from the oldest event that is kept; one that expired gives a SnapshotReset.
        """
        return observing.stream(self.runtime, self.event_client(within), cursor)

    def astream_events(
        self, cursor: str | None = None, within: EventFilter = EVERYTHING
    ) -> AsyncIterator[Observed]:
        """Do as `stream_events` does, with the loop free meanwhile."""
        return observing.astream(self.runtime, self.event_client(within), cursor)

    def subscribe_events(
        self,
        listener: Listener,
        cursor: str | None = None,
        within: EventFilter = EVERYTHING,
        *,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Have a function called with each item, on an observer thread, until it is closed (R106).

        The cursor moves when it returned; one that raised is called again a little later.
        """
        client = self.event_client(within)
        return observing.subscribe(self.runtime, client, listener, cursor, on_error)

    def explain_cursor(self, cursor: str) -> CursorExplanation:
        """Whether an observer can go on from a cursor, and what it does if not (R269)."""
        return explaining.cursor(self.key, cursor)

    def view(self) -> SessionView:
        """The Session as it stands."""
        return reads.session(self.key)

    def retain(self, events: int | None = None, seconds: int | None = None) -> None:
        """Keep so many events and for so long; None leaves a bound to the deployment's settings."""
        retention.retain(self.key, Keep(events, seconds))

    def create_thread(self, thread_id: str, agent: str, version: str | None = None) -> ThreadHandle:
        """Make a Thread, pinned to a version of an agent; an identical create adds none (R026)."""
        key = self.key.thread(thread_id)
        definitions.create(key, agent, version, lambda pin: admission.create_thread(key, pin))
        return ThreadHandle(key, self.runtime)

    def get_thread(self, thread_id: str) -> ThreadHandle:
        """A Thread of this Session; raises NotFound."""
        key = self.key.thread(thread_id)
        reads.thread(key)
        return ThreadHandle(key, self.runtime)

    def list_threads(self, cursor: str | None = None, limit: int = 100) -> Page[ThreadView]:
        """Threads, in the order in which they were made."""
        return reads.threads(self.key, cursor, limit)

    def close(self) -> None:
        """Close the Session and its Threads; raises Conflict while a Turn is unfinished (R027)."""
        admission.close_session(self.key)

    asubmit = twin(submit)
    aget_turn = twin(get_turn)
    alist_turns = twin(list_turns)
    ahistory = twin(history)
    alist_events = twin(list_events)
    asnapshot = twin(snapshot)
    aexplain_cursor = twin(explain_cursor)
    aretain = twin(retain)
    aview = twin(view)
    acreate_thread = twin(create_thread)
    aget_thread = twin(get_thread)
    alist_threads = twin(list_threads)
    aclose = twin(close)
