"""TurnHandle over HTTP: a submitted task, to be read, waited for and controlled (R118)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sessions_app.client import observing
from sessions_app.client.reading import Handle, content_of
from sessions_app.contract.errors import Conflict, WaitTimeout
from sessions_app.contract.events import EventFilter, EventView
from sessions_app.contract.explanation import Explanation
from sessions_app.contract.status import TurnStatus
from sessions_app.contract.views import (
    InteractionView,
    Receipt,
    RunView,
    StepView,
    ToolView,
    TurnView,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.content import UserInput
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.observing import Observed, SessionEventClient
    from sessions_app.contract.paging import EventPage, Page
    from sessions_app.contract.snapshot import Snapshot
    from sessions_app.streaming.subscriptions import Listener, OnError, Subscription

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class TurnHandle(Handle):
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
        return self.view_of(TurnView, self.transport.get(self.path))

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
        return self._control("steer", request_id, input=content_of(content))

    def inject(self, request_id: str, content: UserInput | str | dict[str, Any]) -> Receipt:
        """Add material, read at the next reasoning step."""
        return self._control("inject", request_id, input=content_of(content))

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
        return self.view_of(Explanation, self.transport.get(f"{self.path}/explain"))

    def pending_interactions(
        self, cursor: str | None = None, limit: int = 100
    ) -> Page[InteractionView]:
        """What can be answered now, the oldest first."""
        return self.page_of(InteractionView, f"{self.path}/interactions/pending", cursor, limit)

    def list_tools(self, cursor: str | None = None, limit: int = 100) -> Page[ToolView]:
        """Tool calls in the order in which the model made them."""
        return self.page_of(ToolView, f"{self.path}/tools", cursor, limit)

    def list_runs(self, cursor: str | None = None, limit: int = 100) -> Page[RunView]:
        """Invocations, the first one first."""
        return self.page_of(RunView, f"{self.path}/runs", cursor, limit)

    def list_steps(
        self, run_id: str, cursor: str | None = None, limit: int = 100
    ) -> Page[StepView]:
        """Phases of one Run."""
        return self.page_of(StepView, f"{self.path}/runs/{run_id}/steps", cursor, limit)

    def event_client(self, run_id: str | None = None) -> SessionEventClient:
        """Look by hand at the events of this Turn or one of its Runs, with `poll` (R113)."""
        return observing.event_client(self.transport, self.key.session, self._scope(run_id))

    def list_events(
        self, cursor: str | None = None, limit: int = 100, run_id: str | None = None
    ) -> EventPage[EventView]:
        """Persisted events of this Turn or one of its Runs; sequences stay the Session's."""
        timeline = self.event_client(run_id).timeline
        return timeline.events(self.key.session, cursor, limit, self._scope(run_id))

    def snapshot(self, run_id: str | None = None) -> Snapshot:
        """All that is public of this Turn or one of its Runs, at one cursor."""
        return self.event_client(run_id).timeline.snapshot(self.key.session, self._scope(run_id))

    def stream_events(
        self, cursor: str | None = None, run_id: str | None = None
    ) -> Iterator[Observed]:
        """Give what is behind a cursor, then what comes; comes again when the line breaks."""
        return observing.stream(self.transport, self.key.session, cursor, self._scope(run_id))

    def subscribe_events(
        self,
        listener: Listener,
        cursor: str | None = None,
        run_id: str | None = None,
        *,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Have a function called with each item, on an observer thread, until it is closed."""
        client = self.event_client(run_id)
        return observing.subscribe(self.transport, client, listener, cursor, on_error)

    def _scope(self, run_id: str | None = None) -> EventFilter:
        return EventFilter(self.key.thread_id, self.turn_id, run_id)

    def _control(self, verb: str, request_id: str, **more: object) -> Receipt:
        body = {"requestId": request_id, **more}
        return self.view_of(Receipt, self.transport.post(f"{self.path}/{verb}", body))
