"""TurnHandle: a submitted task, to be read and waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sessions_app.contract.content import user_input
from sessions_app.contract.decisions import checked_actor, checked_reason
from sessions_app.contract.errors import Conflict
from sessions_app.contract.events import EventFilter
from sessions_app.contract.identity import checked_key, checked_request_id, checked_revision
from sessions_app.contract.status import TurnStatus
from sessions_app.runtime import observing, output, waiting
from sessions_app.runtime.twins import twin
from sessions_app.store import (
    asked,
    controls,
    interactions,
    reads,
    releasing,
    snapshots,
    timeline,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.events import EventView
    from sessions_app.contract.explanation import Explanation
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.observing import Observed, SessionEventClient
    from sessions_app.contract.paging import EventPage, Page
    from sessions_app.contract.snapshot import Snapshot
    from sessions_app.contract.views import (
        InteractionView,
        ModelCallView,
        OutputView,
        Receipt,
        RunView,
        StepView,
        ToolView,
        TurnView,
    )
    from sessions_app.runtime.runtime import DurableRuntime
    from sessions_app.streaming.subscriptions import Listener, OnError, Subscription


@dataclass(frozen=True, slots=True)
class TurnHandle:
    """Identity of one Turn; any process may rebuild it from its ids (R009)."""

    key: ThreadKey
    turn_id: str
    runtime: DurableRuntime = field(repr=False, compare=False)
    receipt: Receipt | None = field(default=None, repr=False, compare=False)
    """Of the submission that gave this handle; None for one that was rebuilt from its ids."""

    def status(self) -> TurnView:
        """The Turn as it stands."""
        return reads.turn(self.turn_id, self.key)

    def result(self) -> JsonValue:
        """What the completed Turn gave; raises Conflict, with the status found, without one."""
        view = self.status()
        if view.status == TurnStatus.COMPLETED:
            return view.result
        why = f" ({view.error_code}: {view.error_text})" if view.error_code else ""
        msg = f"turn {self.turn_id} is {view.status}{why} and has no result"
        raise Conflict(msg)

    def wait(self, timeout: float | None = None) -> TurnView:
        """Block until it has ended; raises WaitTimeout, in a transaction Invalid (R022, S14)."""
        return waiting.wait(self.turn_id, self.key, timeout, self.runtime.closed)

    async def await_result(self, timeout: float | None = None) -> TurnView:  # noqa: ASYNC109 - see wait
        """Wait as `wait` does, the loop free meanwhile; cancelling it cancels no work (R023)."""
        return await waiting.await_(self.turn_id, self.key, timeout, self.runtime.closed)

    def steer(self, request_id: str, content: object, actor: str | None = None) -> Receipt:
        """Add direction at the next safe boundary; a reasoning step follows (R040).

        This and the other controls prove admission only: `signal.applied` or a terminal Turn proves
        processing (R043). A repeat gives the same receipt (R046). Each raises Invalid, NotFound,
        Closed, Conflict or Unavailable; nothing was written then. `actor` is put on record.
        """
        request = checked_request_id(request_id)
        return controls.steer(self.key, self.turn_id, request, user_input(content), actor)

    def inject(self, request_id: str, content: object, actor: str | None = None) -> Receipt:
        """Add material, read at the next reasoning step; it causes none (R040)."""
        request = checked_request_id(request_id)
        return controls.inject(self.key, self.turn_id, request, user_input(content), actor)

    def withdraw(self, request_id: str, target: str, actor: str | None = None) -> Receipt:
        """Take an input back before it was applied, by its signal id or request id (R041)."""
        request = checked_request_id(request_id)
        return controls.withdraw(self.key, self.turn_id, request, target, actor)

    def pause(self, request_id: str, actor: str | None = None) -> Receipt:
        """Stop at the next safe boundary; only an observed PAUSED means it has stopped (R047)."""
        return controls.pause(self.key, self.turn_id, checked_request_id(request_id), actor)

    def resume(self, request_id: str, expected_revision: int, actor: str | None = None) -> Receipt:
        """Lift the pause that was seen at this revision, and nothing else (R048, R052)."""
        request = checked_request_id(request_id)
        expected = checked_revision(expected_revision)
        return controls.resume(self.key, self.turn_id, request, expected, actor)

    def cancel(self, request_id: str, actor: str | None = None) -> Receipt:
        """End it; what was begun settles first, and may have happened (R044, R045)."""
        return controls.cancel(self.key, self.turn_id, checked_request_id(request_id), actor)

    def explain(self) -> Explanation:
        """Why it is not running: the first cause, its facts and the next actions (R262)."""
        reads.turn(self.turn_id, self.key)
        return reads.explain(self.turn_id)

    def respond(
        self, request_id: str, interaction_id: str, response: JsonValue, actor: str | None = None
    ) -> Receipt:
        """Answer what a person is asked (R144): once, and for exactly the arguments shown.

        An approval takes `True`, `False` or {"decision": "allow" or "deny", "reason": ...}, a
        manual call the JSON that is its result. The receipt's outcome names the decision; `actor`
        is who decided. Raises NotFound, Invalid, Closed or Conflict; nothing was written then.
        """
        return interactions.respond(
            self.key, self.turn_id, checked_request_id(request_id), interaction_id, response, actor
        )

    def set_aside(
        self, request_id: str, interaction_id: str, *, by: str, reason: str = ""
    ) -> Receipt:
        """Put an interaction off: it stays open, is listed apart and can still be answered."""
        request, who = checked_request_id(request_id), checked_actor(by)
        return interactions.set_aside(
            self.key, self.turn_id, request, interaction_id, who, checked_reason(reason)
        )

    def signal(
        self, request_id: str, key: str, content: JsonValue = None, actor: str | None = None
    ) -> Receipt:
        """Send a signal `x.<ns>.<name>` (R147): it ends the oldest wait for it, or is kept for one.

        The receipt's outcome is `matched` or `kept`. Raises Invalid, NotFound or Closed.
        """
        request, name = checked_request_id(request_id), checked_key(key)
        return interactions.signal(self.key, self.turn_id, request, name, content, actor)

    def pending_interactions(
        self, cursor: str | None = None, limit: int = 100
    ) -> Page[InteractionView]:
        """What can be answered now, the oldest first (R145)."""
        self.status()
        return asked.pending(self.turn_id, cursor, limit)

    def list_interactions(
        self, cursor: str | None = None, limit: int = 100
    ) -> Page[InteractionView]:
        """Everything that was asked, with what became of it and of the call behind it."""
        self.status()
        return asked.of_turn(self.turn_id, cursor, limit)

    def list_tools(self, cursor: str | None = None, limit: int = 100) -> Page[ToolView]:
        """Tool calls in the order in which the model made them, wherever they ran (R078, R079)."""
        self.status()
        return reads.tools(self.turn_id, cursor, limit)

    def output(
        self,
        call: str,
        offset: int = 0,
        limit: int = output.DEFAULT_LIMIT,
        timeout: float = output.DEFAULT_TIMEOUT,
    ) -> OutputView:
        """A page of what a call in Hands wrote, from a byte on, while it runs and after (R190).

        `call` is the execution id, or the model's call id where it is the only one of this Turn.
        Hands is asked by its queues, so this blocks for a moment, at most `timeout` seconds, and
        raises WaitTimeout when no process answers. Raises NotFound, Invalid, and Conflict for a
        call that does not run in Hands.
        """
        self.status()
        return output.read(self, call, offset, limit, timeout)

    def release(self, request_id: str, actor: str, reason: str = "") -> Receipt:
        """Let a Turn that took processes down be tried again (S5); put on record.

        Raises Conflict for a Turn that is not held, Closed for one that has ended.
        """
        return releasing.release(
            self.key, self.turn_id, checked_request_id(request_id), actor, reason
        )

    def list_runs(self, cursor: str | None = None, limit: int = 100) -> Page[RunView]:
        """Invocations, the first one first (R020)."""
        self.status()
        return reads.runs(self.turn_id, cursor, limit)

    def get_run(self, run_id: str) -> RunView:
        """One Run of this Turn; raises NotFound."""
        self.status()
        return reads.run(self.turn_id, run_id)

    def list_steps(
        self, run_id: str, cursor: str | None = None, limit: int = 100
    ) -> Page[StepView]:
        """Phases of one Run."""
        self.status()
        return reads.steps(self.turn_id, run_id, cursor, limit)

    def get_step(self, step_id: str) -> StepView:
        """One Step of any Run of this Turn; raises NotFound."""
        self.status()
        return reads.step(self.turn_id, step_id)

    def list_model_calls(
        self,
        run_id: str,
        step_id: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> Page[ModelCallView]:
        """Model requests of one Run; without a Step all of them (R064)."""
        self.status()
        return reads.model_calls(self.turn_id, run_id, step_id, cursor, limit)

    def get_model_call(self, call_id: str) -> ModelCallView:
        """One model request of any Run of this Turn; raises NotFound."""
        self.status()
        return reads.model_call(self.turn_id, call_id)

    def list_events(
        self, cursor: str | None = None, limit: int = 100, run_id: str | None = None
    ) -> EventPage[EventView]:
        """Persisted events of this Turn or one of its Runs; sequences stay the Session's (R018)."""
        return timeline.events(self.key.session, cursor, limit, self._scope(run_id))

    def snapshot(self, run_id: str | None = None) -> Snapshot:
        """All that is public of this Turn or one of its Runs, at one cursor (R091)."""
        return snapshots.snapshot(self.key.session, self._scope(run_id))

    def event_client(self, run_id: str | None = None) -> SessionEventClient:
        """Look by hand at the events of this Turn or one of its Runs, with `poll` (R113)."""
        return observing.event_client(self.key.session, self._scope(run_id))

    def stream_events(
        self, cursor: str | None = None, run_id: str | None = None
    ) -> Iterator[Observed]:
        """Give what is behind a cursor, then what comes, until the runtime is closed (R105).

        Without a cursor from the oldest event that is kept; one that expired gives a SnapshotReset.
        """
        return observing.stream(self.runtime, self.event_client(run_id), cursor)

    def astream_events(
        self, cursor: str | None = None, run_id: str | None = None
    ) -> AsyncIterator[Observed]:
        """Do as `stream_events` does, with the loop free meanwhile."""
        return observing.astream(self.runtime, self.event_client(run_id), cursor)

    def subscribe_events(
        self,
        listener: Listener,
        cursor: str | None = None,
        run_id: str | None = None,
        *,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Have a function called with each item, on an observer thread, until it is closed (R106).

        The cursor moves when it returned; one that raised is called again a little later.
        """
        client = self.event_client(run_id)
        return observing.subscribe(self.runtime, client, listener, cursor, on_error)

    def _scope(self, run_id: str | None) -> EventFilter:
        return EventFilter(self.key.thread_id, self.turn_id, run_id)

    astatus = twin(status)
    aresult = twin(result)
    asteer = twin(steer)
    ainject = twin(inject)
    awithdraw = twin(withdraw)
    apause = twin(pause)
    aresume = twin(resume)
    acancel = twin(cancel)
    aexplain = twin(explain)
    arespond = twin(respond)
    aset_aside = twin(set_aside)
    asignal = twin(signal)
    apending_interactions = twin(pending_interactions)
    alist_interactions = twin(list_interactions)
    alist_tools = twin(list_tools)
    aoutput = twin(output)
    arelease = twin(release)
    alist_runs = twin(list_runs)
    aget_run = twin(get_run)
    alist_steps = twin(list_steps)
    aget_step = twin(get_step)
    alist_model_calls = twin(list_model_calls)
    aget_model_call = twin(get_model_call)
    alist_events = twin(list_events)
    asnapshot = twin(snapshot)
