"""Settling: what an owner's commit does to the Turn, and how a Turn ends (R138, R161, S6, S12)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from sessions_app.contract.backend import Commit, Fail, Finish, Go, HandOver, Park
from sessions_app.contract.events import EventType
from sessions_app.contract.status import (
    SETTLED_CALLS,
    RunStatus,
    SignalKind,
    SignalStatus,
    StepPhase,
    StepStatus,
    TurnStatus,
    WaitReason,
)
from sessions_app.machine import (
    awaiting,
    ending,
    failures,
    intents,
    recording,
    signals,
    steps,
    tools,
)
from sessions_app.machine.awaiting import Awaiting
from sessions_app.machine.claiming import all_settled, end_run, release
from sessions_app.machine.table import move

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import WaitDraft
    from sessions_app.contract.status import CallState
    from sessions_app.machine.change import Change
    from sessions_app.machine.failures import Policy
    from sessions_app.models import Message, Run, Step, ToolCall


@dataclass(slots=True)
class Invocation(Awaiting):
    """Rows of a running invocation under the Session's lock.

    The token was compared already (S6).
    """

    run: Run
    step: Step | None
    policy: Policy
    build: str
    steps: int = 0  # of this Run
    checkpoints: int = 0  # of the Thread
    attempts: dict[tuple[str, int], int] = field(
        default_factory=dict
    )  # model calls by (path, ordinal)
    said: dict[int, Message] = field(default_factory=dict)  # messages that this commit may replace
    went_on: bool = False


def commit(change: Change, rows: Invocation, asked: Commit) -> None:
    """Record what was done, then decide how the invocation goes on."""
    rows.turn.last_change = asked.change_id
    rows.went_on = isinstance(asked.end, Finish) and _leads_on(rows)
    recording.entries(change, rows, asked.entries)
    recording.model_calls(change, rows, asked.model_calls)
    recording.messages(change, rows, asked.messages)
    tools.results(change, rows, asked.results)
    recording.inputs_applied(change, rows, asked.inputs_applied)
    intents.intend(change, rows, asked.intents)
    tools.start(change, rows, asked.starts)
    if asked.frame is not None:
        recording.frame(
            change, rows, asked.frame, settled=isinstance(asked.end, Finish) and not rows.went_on
        )
    tools.applied(change, rows, asked.applied)
    if asked.entries or asked.results or asked.frame:
        rows.turn.deaths = 0
    _end(change, rows, asked)


def _end(change: Change, rows: Invocation, asked: Commit) -> None:
    match asked.end:
        case Go(phase=phase):
            _next_step(change, rows, phase, answered=_answered(asked))
        case Finish(result=result):
            _finish(change, rows, result)
        case Park(waits=waits):
            _park(change, rows, waits)
        case Fail() as failure:
            _fail(change, rows, failure)
        case HandOver() as handed:
            _hand_over(change, rows, handed)


def _leads_on(rows: Invocation) -> bool:
    """A steer that came in time makes a step happen, unless the Turn is being cancelled (S12)."""
    return rows.turn.cancel_request is None and any(
        signal.kind == SignalKind.STEER and signal.status == SignalStatus.PENDING
        for signal in rows.signals
    )


def _answered(asked: Commit) -> bool:
    return any(call.path == "main" and call.status == "COMPLETED" for call in asked.model_calls)


def _next_step(
    change: Change, rows: Invocation, phase: StepPhase | None, *, answered: bool = False
) -> None:
    """Begin the next Step.

    An answered request never leaves its REASONING Step open: it would stand as LOST.
    """
    same = rows.step is not None and rows.step.phase == phase
    if not answered and (phase is None or same):
        return
    phase = phase or StepPhase.FINALIZATION
    _end_step(change, rows, StepStatus.COMPLETED)
    rows.steps += 1
    rows.step = steps.begin(change, rows.run, rows.turn, phase, rows.steps, None)


def _end_step(change: Change, rows: Invocation, status: StepStatus) -> None:
    if rows.step is None:
        return
    steps.end(change, rows.run, rows.turn, rows.step, status)
    rows.step = None


def _finish(change: Change, rows: Invocation, result: JsonValue) -> None:
    if rows.went_on:
        _next_step(change, rows, StepPhase.REASONING)
        return
    _leave(change, rows, RunStatus.COMPLETED, StepStatus.COMPLETED)
    if rows.turn.cancel_request is not None:
        ending.end(change, rows, TurnStatus.CANCELLED)
        return
    rows.turn.result = result
    ending.end(change, rows, TurnStatus.COMPLETED)


def _park(change: Change, rows: Invocation, waits: Sequence[WaitDraft]) -> None:
    """Nothing more to do here. A Park that waits for nothing is looked at again at once."""
    signals.open_all(change, rows, waits)
    _leave(change, rows, RunStatus.SUSPENDED, StepStatus.COMPLETED)
    if rows.calls:
        reason = awaiting.reason(rows.calls)
    else:
        reason = WaitReason.SIGNAL if rows.open_waits() else WaitReason.HANDED_OVER
    _rest(change, rows, reason)


def _rest(change: Change, rows: Invocation, reason: WaitReason) -> None:
    """Nobody owns the Turn now: a pause has taken hold, a cancel goes on, else it waits."""
    if rows.turn.cancel_request is not None:
        ending.abandon(change, rows, run=rows.run.id)
    if rows.turn.status == TurnStatus.PAUSING:
        move(change, rows.turn, TurnStatus.PAUSED, reason)
    elif rows.turn.status != TurnStatus.CANCELLING:
        move(change, rows.turn, TurnStatus.WAITING, reason)


def _fail(change: Change, rows: Invocation, failure: Fail) -> None:
    """One failure: back off, or end for good with the native clean-up in this commit (R161)."""
    cancelled = rows.turn.cancel_request is not None  # skips backoff and is no failure (R054)
    if not (cancelled or rows.turn.failed_for_good) and failures.record(
        change, rows.turn, failure, rows.policy
    ):
        _leave(change, rows, RunStatus.FAILED, StepStatus.FAILED, failure.code)
        return
    late = _came_meanwhile(rows.calls, failure.shown)
    ending.abandon(change, rows, run=rows.run.id)
    if late or not all_settled(rows.calls):
        _leave(change, rows, RunStatus.FAILED, StepStatus.FAILED, failure.code)
        if cancelled and rows.turn.status != TurnStatus.CANCELLING:
            move(change, rows.turn, TurnStatus.CANCELLING)  # its effects settle (R045)
        _rest(change, rows, awaiting.reason(rows.calls))
        return
    recording.entries(change, rows, failure.settled_entries)
    if failure.settled is not None:
        recording.frame(change, rows, failure.settled, settled=True)
    tools.applied(change, rows, [call.id for call in rows.calls if call.applied_at is None])
    _leave(change, rows, RunStatus.FAILED, StepStatus.FAILED, failure.code)
    status = TurnStatus.CANCELLED if cancelled else TurnStatus.FAILED
    ending.end(change, rows, status)


def _came_meanwhile(calls: Sequence[ToolCall], shown: Mapping[str, CallState]) -> bool:
    """Whether a result came behind the clean-up, which has to be made again with it then (R161)."""
    settled = [call for call in calls if call.state in SETTLED_CALLS]
    return any(shown.get(call.id, call.state) != call.state for call in settled)


def _hand_over(change: Change, rows: Invocation, handed: HandOver) -> None:
    """Give the Thread to another host and charge nothing (R162)."""
    _leave(change, rows, RunStatus.HANDED_OVER, StepStatus.FAILED, handed.detail or handed.reason)
    if handed.reason == "incompatible":
        _incompatible(change, rows, handed.detail)
    drained = handed.reason == "drain"
    _rest(change, rows, WaitReason.HANDED_OVER if drained else WaitReason.INCOMPATIBLE)


def _incompatible(change: Change, rows: Invocation, detail: str) -> None:
    """This build does not claim it again; others after 1 s, doubling to 5 min.

    One event only (S17).
    """
    thread = rows.thread
    first = not thread.incompatible_builds
    thread.incompatible_reason = detail[:500]
    thread.incompatible_builds = [*thread.incompatible_builds, rows.build]
    thread.incompatible_count += 1
    delay = min(timedelta(seconds=2 ** min(thread.incompatible_count - 1, 9)), timedelta(minutes=5))
    thread.incompatible_until = change.now + delay
    if first:
        payload: dict[str, JsonValue] = {
            "reason": thread.incompatible_reason,
            "definition": str(thread.pin),
        }
        change.emit(
            rows.session.id, EventType.TURN_INCOMPATIBLE, payload, turn=rows.turn, run=rows.run.id
        )


def _leave(
    change: Change, rows: Invocation, run: RunStatus, step: StepStatus, reason: str | None = None
) -> None:
    """End Step and Run and give the lease back."""
    _end_step(change, rows, step)
    end_run(change, rows.turn, rows.run, run, reason)
    release(rows.thread)
    change.touch(rows.thread)
