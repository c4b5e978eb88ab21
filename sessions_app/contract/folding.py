"""The fold: what each kind of event changes in the public state; one function for each (I20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sessions_app.contract import payloads
from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
from sessions_app.contract.status import CallState, Lifecycle, RunStatus, TurnStatus
from sessions_app.contract.views import (
    MessageView,
    RecoveryView,
    SessionView,
    ThreadView,
    ToolView,
    TurnView,
    UsageView,
    public_execution,
)

if TYPE_CHECKING:
    from sessions_app.contract.events import EventView
    from sessions_app.contract.snapshot import Snapshot

T = TypeVar("T")
P = TypeVar("P", bound=payloads.Payload)


@dataclass(slots=True)
class State:
    """The maps of a Snapshot, to be changed."""

    key: SessionKey
    session: SessionView | None
    threads: dict[str, ThreadView]
    turns: dict[str, TurnView]
    messages: dict[str, MessageView]
    tools: dict[str, ToolView]

    @classmethod
    def of(cls, given: Snapshot) -> State:
        """Maps of its own; views are never changed."""
        maps = (given.threads, given.turns, given.messages, given.tools)
        threads, turns, messages, tools = maps
        return cls(
            given.key, given.session, dict(threads), dict(turns), dict(messages), dict(tools)
        )

    def thread_key(self, event: EventView) -> ThreadKey:
        """Key of the Thread that the event is about."""
        return self.key.thread(event.thread_id or "")


_Fold = Callable[[State, "EventView", Any], None]
_FOLDS: Final[dict[type[payloads.Payload], _Fold]] = {}


def fold(state: State, event: EventView, said: payloads.Payload) -> None:
    """Fold one event in; one that changes no view leaves the state as it is."""
    change = _FOLDS.get(type(said))
    if change is not None:
        change(state, event, said)


def _on(
    kind: type[P],
) -> Callable[[Callable[[State, EventView, P], None]], Callable[[State, EventView, P], None]]:
    def known(change: Callable[[State, EventView, P], None]) -> Callable[..., None]:
        _FOLDS[kind] = change
        return change

    return known


def _change(records: dict[str, T], name: str | None, change: Callable[[T], T]) -> None:
    """Change one record; a scope that never had it has nothing to change."""
    if name is not None and name in records:
        records[name] = change(records[name])


@_on(payloads.SessionCreated)
def _session_created(state: State, event: EventView, said: payloads.SessionCreated) -> None:
    key = SessionKey(said.namespace, said.session_id)
    state.session = SessionView(key, Lifecycle.OPEN, event.sequence, event.at)


@_on(payloads.SessionClosed)
def _session_closed(state: State, event: EventView, _: payloads.SessionClosed) -> None:
    if state.session is not None:
        state.session = replace(state.session, status=Lifecycle.CLOSED, closed_at=event.at)


@_on(payloads.ThreadCreated)
def _thread_created(state: State, event: EventView, said: payloads.ThreadCreated) -> None:
    key = state.thread_key(event)
    pin = DefinitionKey(said.definition, said.version, said.state_version)
    state.threads[key.thread_id] = ThreadView(key, Lifecycle.OPEN, pin, event.at)


@_on(payloads.ThreadClosed)
def _thread_closed(state: State, event: EventView, _: payloads.ThreadClosed) -> None:
    _change(state.threads, event.thread_id, lambda was: replace(was, status=Lifecycle.CLOSED))


@_on(payloads.ThreadRepinned)
def _thread_repinned(state: State, event: EventView, said: payloads.ThreadRepinned) -> None:
    pin = DefinitionKey(said.definition, said.version, said.state_version)
    _change(state.threads, event.thread_id, lambda was: replace(was, definition=pin))


@_on(payloads.TurnAdmitted)
def _turn_admitted(state: State, event: EventView, said: payloads.TurnAdmitted) -> None:
    turn_id = event.turn_id or ""
    state.turns[turn_id] = TurnView(
        turn_id=turn_id,
        key=state.thread_key(event),
        request_id=said.request_id,
        status=TurnStatus.QUEUED,
        revision=1,
        reason=None,
        created_at=event.at,
    )


@_on(payloads.TurnMoved)
def _turn_moved(state: State, event: EventView, said: payloads.TurnMoved) -> None:
    def moved(turn: TurnView) -> TurnView:
        to = replace(turn, status=TurnStatus(said.to), revision=said.revision, reason=said.reason)
        return replace(to, finished_at=event.at, result=said.result) if to.is_terminal else to

    _change(state.turns, event.turn_id, moved)


@_on(payloads.TurnRecovery)
def _turn_recovery(state: State, event: EventView, said: payloads.TurnRecovery) -> None:
    record = RecoveryView(**said.model_dump(exclude={"error_text"}))

    def failed(turn: TurnView) -> TurnView:
        code, text = said.error_code, said.error_text
        return replace(turn, recovery=record, error_code=code, error_text=text)

    _change(state.turns, event.turn_id, failed)


@_on(payloads.TurnUsage)
def _turn_usage(state: State, event: EventView, said: payloads.TurnUsage) -> None:
    sums = UsageView(**said.model_dump(exclude={"rounds"}))
    _change(state.turns, event.turn_id, lambda turn: replace(turn, usage=sums, rounds=said.rounds))


@_on(payloads.ModelCallLost)
def _model_call_lost(state: State, event: EventView, _: payloads.ModelCallLost) -> None:
    def partial(turn: TurnView) -> TurnView:
        return replace(turn, usage=replace(turn.usage, complete=False))

    _change(state.turns, event.turn_id, partial)


@_on(payloads.RunStarted)
def _run_started(state: State, event: EventView, _: payloads.RunStarted) -> None:
    def begun(turn: TurnView) -> TurnView:
        recovery = turn.recovery and replace(turn.recovery, next_try_at=None)
        return replace(turn, started_at=turn.started_at or event.at, recovery=recovery)

    _change(state.turns, event.turn_id, begun)


@_on(payloads.RunEnded)
def _run_ended(state: State, event: EventView, said: payloads.RunEnded) -> None:
    lost = int(said.status == RunStatus.LOST)
    _change(state.turns, event.turn_id, lambda turn: replace(turn, takeovers=turn.takeovers + lost))


@_on(payloads.MessageCompleted)
def _message_completed(state: State, event: EventView, said: payloads.MessageCompleted) -> None:
    known = state.messages.get(said.message_id)
    state.messages[said.message_id] = MessageView(
        **said.model_dump(),
        turn_id=event.turn_id or "",
        key=state.thread_key(event),
        sequence=known.sequence if known else event.sequence,
        run_id=event.run_id,
    )


@_on(payloads.ToolRequested)
def _tool_requested(state: State, event: EventView, said: payloads.ToolRequested) -> None:
    call = ToolView(
        call_id=said.call_id,
        name=said.name,
        turn_id=event.turn_id or "",
        key=state.thread_key(event),
        round=said.round,
        ordinal=said.ordinal,
        route=said.route,
        arguments=said.arguments,
        requested_at=event.at,
        run_id=event.run_id,
        execution_id=public_execution(said.route, said.execution_id),
    )
    state.tools[call.place] = call


@_on(payloads.ToolStarted)
def _tool_started(state: State, event: EventView, said: payloads.ToolStarted) -> None:
    def started(call: ToolView) -> ToolView:
        at = call.started_at or event.at
        went_on = CallState.STARTED if call.state == CallState.INTENDED else call.state
        return replace(call, state=went_on, attempts=said.attempt, started_at=at)

    _change(state.tools, _place(event, said), started)


@_on(payloads.ToolProgress)
def _tool_progress(state: State, event: EventView, said: payloads.ToolProgress) -> None:
    _change(state.tools, _place(event, said), lambda call: replace(call, progress=said.progress))


@_on(payloads.ToolOutput)
def _tool_output(state: State, event: EventView, said: payloads.ToolOutput) -> None:
    def written(call: ToolView) -> ToolView:
        return replace(call, output_bytes=said.bytes, output_sealed=said.sealed)

    _change(state.tools, _place(event, said), written)


@_on(payloads.ToolResult)
def _tool_result(state: State, event: EventView, said: payloads.ToolResult) -> None:
    def received(call: ToolView) -> ToolView:
        return replace(
            call,
            state=CallState(said.state),
            result=said.content,
            error_code=said.error_code,
            received_at=event.at,
        )

    _change(state.tools, _place(event, said), received)


@_on(payloads.ToolApplied)
def _tool_applied(state: State, event: EventView, said: payloads.ToolApplied) -> None:
    def applied(call: ToolView) -> ToolView:
        return replace(call, applied_at=event.at, run_id=event.run_id)

    _change(state.tools, _place(event, said), applied)


@_on(payloads.ToolUnknown)
def _tool_unknown(state: State, event: EventView, said: payloads.ToolUnknown) -> None:
    _change(state.tools, _place(event, said), lambda call: replace(call, state=CallState.UNKNOWN))


@_on(payloads.ToolCancelRequested)
def _tool_cancel_requested(
    state: State, event: EventView, said: payloads.ToolCancelRequested
) -> None:
    place = _place(event, said)
    _change(state.tools, place, lambda call: replace(call, cancel_requested_at=event.at))


@_on(payloads.ToolCancelAccepted)
def _tool_cancel_accepted(
    state: State, event: EventView, said: payloads.ToolCancelAccepted
) -> None:
    place = _place(event, said)
    _change(state.tools, place, lambda call: replace(call, cancel_accepted_at=event.at))


def _place(event: EventView, said: payloads.ToolFact) -> str:
    return f"{event.turn_id}/{said.round}/{said.ordinal}"
