"""Handles over HTTP: made of ids alone, with the methods of those in the same process (R118)."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sessions_app.contract import wire
from sessions_app.contract.content import UserInput, user_input
from sessions_app.contract.errors import Conflict, OutcomeUnknown, Unavailable, WaitTimeout
from sessions_app.contract.events import EventView
from sessions_app.contract.explanation import Explanation
from sessions_app.contract.frames import FrameKind, FrameReader
from sessions_app.contract.identity import MAIN_THREAD, SessionKey, ThreadKey
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.contract.snapshot import Snapshot
from sessions_app.contract.status import TurnStatus
from sessions_app.contract.views import (
    InteractionView,
    MessageView,
    Receipt,
    RunView,
    SessionView,
    StepView,
    ThreadView,
    ToolView,
    TurnView,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.client.transport import Transport
    from sessions_app.contract.paging import EventPage, Page

V = TypeVar("V")
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_AGAIN: Final = 0.5


def _content(given: object) -> JsonValue:
    """Content as it travels; raises Invalid for what no server would take."""
    return given if isinstance(given, str) else user_input(given).wire()


@dataclass(frozen=True, slots=True)
class _Handle:
    transport: Transport = field(repr=False, compare=False)

    def _view(self, view: type[V], said: object) -> V:
        """Read a success; one that is not what it should be is uncertain (R122)."""
        try:
            return wire.parse(view, said)
        except ValueError as error:
            msg = f"an answer is no {view.__name__}"
            raise OutcomeUnknown(msg) from error

    def _page(self, view: type[V], path: str, cursor: str | None, limit: int) -> Page[V]:
        said = self.transport.get(path, cursor=cursor, limit=limit)
        try:
            return wire.parse_page(view, said)
        except ValueError as error:
            msg = f"an answer is no page of {view.__name__}"
            raise OutcomeUnknown(msg) from error


@dataclass(frozen=True, slots=True)
class SessionHandle(_Handle):
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
        return self._view(SessionView, self.transport.get(self.path))

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
        return self._page(ThreadView, f"{self.path}/threads", cursor, limit)

    def get_turn(self, turn_id: str) -> TurnHandle:
        """A Turn of any Thread of this Session; raises NotFound."""
        view = self._view(TurnView, self.transport.get(f"{self.path}/turns/{turn_id}"))
        return TurnHandle(self.transport, view.key, turn_id)

    def list_turns(self, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
        """Turns of all Threads."""
        return self._page(TurnView, f"{self.path}/turns", cursor, limit)

    def history(self, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
        """Messages of the main Thread."""
        return self.main.history(cursor, limit)

    def list_events(self, cursor: str | None = None, limit: int = 100) -> EventPage[EventView]:
        """Persisted events, gapless."""
        said = self.transport.get(f"{self.path}/events", cursor=cursor, limit=limit)
        try:
            return wire.parse_event_page(EventView, said)
        except ValueError as error:
            msg = "an answer is no page of events"
            raise OutcomeUnknown(msg) from error

    def snapshot(self) -> Snapshot:
        """All that is public, at one cursor."""
        return self._view(Snapshot, self.transport.get(f"{self.path}/snapshot"))

    def stream_events(self, cursor: str | None = None) -> Iterator[EventView]:
        """Events behind a cursor, then each as it comes, for ever; comes again when it breaks.

        Raises CursorExpired, also in the midst: take a snapshot and go on from its cursor.
        """
        last = cursor
        while True:
            try:
                for event in self._streamed(last):
                    yield event
                    last = event.cursor
            except (Unavailable, OutcomeUnknown):
                time.sleep(_AGAIN)

    def _streamed(self, after: str | None) -> Iterator[EventView]:
        """The events of one connection."""
        reader = FrameReader()
        with closing(self.transport.stream(f"{self.path}/events/stream", after)) as text:
            for more in text:
                for frame in reader.feed(more):
                    if frame.kind is FrameKind.DURABLE:
                        yield self._view(EventView, frame.data)
                    elif frame.kind is FrameKind.RESYNC:
                        self.transport.get(
                            f"{self.path}/events", cursor=after
                        )  # says CursorExpired

    def close(self) -> None:
        """Close the Session and its Threads; raises Conflict while a Turn is unfinished."""
        self.transport.post(f"{self.path}/close")


@dataclass(frozen=True, slots=True)
class ThreadHandle(_Handle):
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
        body = {"requestId": request_id, "input": _content(content), "policy": str(policy)}
        receipt = self._view(Receipt, self.transport.post(f"{self.path}/turns", body))
        return TurnHandle(self.transport, self.key, receipt.turn_id, receipt)

    def view(self) -> ThreadView:
        """The Thread as it stands."""
        return self._view(ThreadView, self.transport.get(self.path))

    def list_turns(self, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
        """Turns in the order in which they run."""
        return self._page(TurnView, f"{self.path}/turns", cursor, limit)

    def history(self, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
        """Messages, in the order of their first public sequence."""
        return self._page(MessageView, f"{self.path}/messages", cursor, limit)

    def close(self) -> None:
        """Take no more Turns; raises Conflict while one is unfinished."""
        self.transport.post(f"{self.path}/close")


@dataclass(frozen=True, slots=True)
class TurnHandle(_Handle):
    """A submitted task, to be read, waited for and controlled."""

    key: ThreadKey
    turn_id: str
    receipt: Receipt | None = field(default=None, repr=False, compare=False)

    @property
    def path(self) -> str:
        """Its address below the API."""
        session = self.key.session
        return f"/namespaces/{session.namespace}/sessions/{session.session_id}/turns/{self.turn_id}"

    def status(self) -> TurnView:
        """The Turn as it stands."""
        return self._view(TurnView, self.transport.get(self.path))

    def result(self) -> JsonValue:
        """What the completed Turn gave; raises Conflict, with the status found, without one."""
        view = self.status()
        if view.status == TurnStatus.COMPLETED:
            return view.result
        msg = f"turn {self.turn_id} is {view.status} and has no result"
        raise Conflict(msg)

    def wait(self, timeout: float | None = None) -> TurnView:
        """Block until it has ended; raises WaitTimeout after so many seconds. It goes on then."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_PAUSE
        while not (view := self.status()).is_terminal:
            if deadline is not None and time.monotonic() + pause > deadline:
                msg = f"turn {self.turn_id} of {self.key} is {view.status} after {timeout} s"
                raise WaitTimeout(msg)
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)
        return view

    def steer(self, request_id: str, content: UserInput | str | dict[str, Any]) -> Receipt:
        """Add direction at the next safe boundary (R040)."""
        return self._control("steer", request_id, input=_content(content))

    def inject(self, request_id: str, content: UserInput | str | dict[str, Any]) -> Receipt:
        """Add material, read at the next reasoning step."""
        return self._control("inject", request_id, input=_content(content))

    def withdraw(self, request_id: str, target: str) -> Receipt:
        """Take an input back before it was applied."""
        return self._control("withdraw", request_id, target=target)

    def pause(self, request_id: str) -> Receipt:
        """Stop at the next safe boundary."""
        return self._control("pause", request_id)

    def resume(self, request_id: str, expected_revision: int) -> Receipt:
        """Lift the pause that was seen at this revision."""
        return self._control("resume", request_id, expectedRevision=expected_revision)

    def cancel(self, request_id: str) -> Receipt:
        """End it; what was begun settles first."""
        return self._control("cancel", request_id)

    def signal(self, request_id: str, key: str, content: JsonValue = None) -> Receipt:
        """Send a signal `x.<ns>.<name>`."""
        return self._control("signals", request_id, key=key, content=content)

    def respond(self, request_id: str, interaction_id: str, response: JsonValue) -> Receipt:
        """Answer what a person is asked, once."""
        return self._control(
            f"interactions/{interaction_id}/respond", request_id, response=response
        )

    def explain(self) -> Explanation:
        """Why it is not running."""
        return self._view(Explanation, self.transport.get(f"{self.path}/explain"))

    def pending_interactions(
        self, cursor: str | None = None, limit: int = 100
    ) -> Page[InteractionView]:
        """What can be answered now, the oldest first."""
        return self._page(InteractionView, f"{self.path}/interactions/pending", cursor, limit)

    def list_tools(self, cursor: str | None = None, limit: int = 100) -> Page[ToolView]:
        """Tool calls in the order in which the model made them."""
        return self._page(ToolView, f"{self.path}/tools", cursor, limit)

    def list_runs(self, cursor: str | None = None, limit: int = 100) -> Page[RunView]:
        """Invocations, the first one first."""
        return self._page(RunView, f"{self.path}/runs", cursor, limit)

    def list_steps(
        self, run_id: str, cursor: str | None = None, limit: int = 100
    ) -> Page[StepView]:
        """Phases of one Run."""
        return self._page(StepView, f"{self.path}/runs/{run_id}/steps", cursor, limit)

    def _control(self, verb: str, request_id: str, **more: object) -> Receipt:
        body = {"requestId": request_id, **more}
        return self._view(Receipt, self.transport.post(f"{self.path}/{verb}", body))
