"""ThreadHandle: the running context of one agent, with its ordered queue of Turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sessions_app.contract.content import user_input
from sessions_app.contract.events import EventFilter
from sessions_app.contract.identity import checked_request_id
from sessions_app.contract.policy import SubmitPolicy, submit_policy
from sessions_app.runtime import definitions, observing, waiting
from sessions_app.runtime.turns import TurnHandle
from sessions_app.runtime.twins import twin
from sessions_app.store import admission, joining, reads, snapshots, timeline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from concurrent.futures import Future

    from sessions_app.contract.events import EventView
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.observing import Observed, SessionEventClient
    from sessions_app.contract.paging import EventPage, Page
    from sessions_app.contract.snapshot import Snapshot
    from sessions_app.contract.views import CheckpointView, MessageView, ThreadView, TurnView
    from sessions_app.runtime.runtime import DurableRuntime
    from sessions_app.streaming.subscriptions import Listener, OnError, Subscription


@dataclass(frozen=True, slots=True)
class ThreadHandle:
    """Identity of one Thread; any process may rebuild it from its ids (R009)."""

    key: ThreadKey
    runtime: DurableRuntime = field(repr=False, compare=False)

    def submit(
        self, request_id: str, content: object, policy: str = SubmitPolicy.QUEUE
    ) -> TurnHandle:
        """Ask for a Turn; a repeat of the same request finds the first Turn (R030, R031).

        `policy` says what is wanted while another Turn is unfinished: queue, steer, replace or
        reject; the handle's receipt says what happened. Inside a transaction it joins it, and holds
        the Session's lock until it ends (S14). Raises Invalid, NotFound, Closed, Conflict or
        Unavailable; nothing was written then.
        """
        limits = definitions.limits()
        checked = user_input(content)
        receipt = admission.submit(
            self.key, checked_request_id(request_id), checked, limits, submit_policy(policy)
        )
        return TurnHandle(self.key, receipt.turn_id, self.runtime, receipt)

    def call(
        self,
        request_id: str,
        content: object,
        timeout: float | None = None,
        policy: str = SubmitPolicy.QUEUE,
    ) -> Future[TurnView]:
        """Submit at once, and give a future of the end (R021).

        Whatever refuses the Turn is raised here, the end or WaitTimeout comes by the future.
        Cancelling it cancels no work (R023). Inside a transaction it raises Invalid.
        """
        joining.refuse_waiting()
        waiting.check_timeout(timeout)
        turn = self.submit(request_id, content, policy)
        return self.runtime.futures.of(turn.turn_id, self.key, timeout)

    async def acall(
        self,
        request_id: str,
        content: object,
        timeout: float | None = None,  # noqa: ASYNC109 - the error of a deadline names Thread and Turn
        policy: str = SubmitPolicy.QUEUE,
    ) -> TurnView:
        """Submit and await the end (R021), with the loop free meanwhile."""
        await self._arefuse_waiting()
        waiting.check_timeout(timeout)
        turn = await self.asubmit(request_id, content, policy)
        return await turn.await_result(timeout)

    def get_turn(self, turn_id: str) -> TurnHandle:
        """A Turn of this Thread; raises NotFound."""
        reads.turn(turn_id, self.key)
        return self._handle(turn_id)

    def list_turns(self, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
        """Turns in the order in which they run (R033)."""
        return reads.turns_of_thread(self.key, cursor, limit)

    def history(self, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
        """Messages, in the order of their first public sequence (R070, R075)."""
        return reads.messages(self.key, cursor, limit)

    def list_events(self, cursor: str | None = None, limit: int = 100) -> EventPage[EventView]:
        """Persisted events of this Thread; sequences stay the Session's (R018)."""
        return timeline.events(self.key.session, cursor, limit, self._scope)

    def snapshot(self) -> Snapshot:
        """All that is public of this Thread, at one cursor (R092)."""
        return snapshots.snapshot(self.key.session, self._scope)

    def event_client(self) -> SessionEventClient:
        """Look by hand at the events of this Thread, with `poll` (R113)."""
        return observing.event_client(self.key.session, self._scope)

    def stream_events(self, cursor: str | None = None) -> Iterator[Observed]:
        """Give what is behind a cursor, then what comes, until the runtime is closed (R105).

        Without a cursor from the oldest event that is kept; one that expired gives a SnapshotReset.
        """
        return observing.stream(self.runtime, self.event_client(), cursor)

    def astream_events(self, cursor: str | None = None) -> AsyncIterator[Observed]:
        """Do as `stream_events` does, with the loop free meanwhile."""
        return observing.astream(self.runtime, self.event_client(), cursor)

    def subscribe_events(
        self,
        listener: Listener,
        cursor: str | None = None,
        *,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Have a function called with each item, on an observer thread, until it is closed (R106).

        The cursor moves when it returned; one that raised is called again a little later.
        """
        client = self.event_client()
        return observing.subscribe(self.runtime, client, listener, cursor, on_error)

    def checkpoints(self, after: str | None = None, limit: int = 100) -> Page[CheckpointView]:
        """Checkpoints, the oldest first: where they stand, never what they hold (R019)."""
        return reads.checkpoints(self.key, after, limit)

    def view(self) -> ThreadView:
        """The Thread as it stands."""
        return reads.thread(self.key)

    def close(self) -> None:
        """Take no more Turns; raises Conflict while one is unfinished, cancels nothing (R027)."""
        admission.close_thread(self.key)

    @property
    def _scope(self) -> EventFilter:
        return EventFilter(self.key.thread_id)

    def _handle(self, turn_id: str) -> TurnHandle:
        return TurnHandle(self.key, turn_id, self.runtime)

    def _refuse_waiting(self) -> None:
        joining.refuse_waiting()

    asubmit = twin(submit)
    aget_turn = twin(get_turn)
    alist_turns = twin(list_turns)
    ahistory = twin(history)
    alist_events = twin(list_events)
    asnapshot = twin(snapshot)
    acheckpoints = twin(checkpoints)
    aview = twin(view)
    aclose = twin(close)
    _arefuse_waiting = twin(_refuse_waiting)
