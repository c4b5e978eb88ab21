"""Claiming: who may work on a Thread.

And what becomes of a Run whose process died (R164, S5, S10).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import EffectClass
from sessions_app.contract.events import EventType
from sessions_app.contract.status import (
    SETTLED_CALLS,
    CallState,
    ModelCallStatus,
    RunStatus,
    StepPhase,
    StepStatus,
    TurnStatus,
    WaitReason,
)
from sessions_app.machine import awaiting, ending, recording, steps, tools
from sessions_app.machine.awaiting import Awaiting
from sessions_app.machine.table import move
from sessions_app.models import ModelCall, Run, Step, Thread, ToolCall, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.machine.change import Change

HELD_AFTER_DEATHS: Final = 2
SUSPECT_AFTER_DEATHS: Final = 5
FIRST_HOLD: Final = timedelta(seconds=1)
LONGEST_HOLD: Final = timedelta(minutes=5)
CLAIMABLE: Final = frozenset(
    {
        TurnStatus.QUEUED,
        TurnStatus.RUNNING,
        TurnStatus.WAITING,
        TurnStatus.PAUSING,
        TurnStatus.CANCELLING,
    }
)


@dataclass(slots=True)
class Owned(Awaiting):
    """Rows of a Thread's head under the Session's lock.

    Its questions and waits are there when they are to be closed.
    """

    run: Run | None = None  # the open one
    step: Step | None = None  # the open one
    interrupted: Step | None = None  # the Turn's newest one, if it did not come to its end
    runs: int = 0  # how many the Turn had
    lost_calls: int = 0  # model calls of the open round known so far


@dataclass(frozen=True, slots=True)
class Owner:
    """Who claims, under which fresh token, until when."""

    host_id: str
    token: str
    expires_at: datetime
    grace: bool = False  # after a gap in scanning nobody is taken over (S4)


def may_claim(thread: Thread, turn: Turn, now: datetime, *, build: str) -> bool:
    """Whether the look under the lock still justifies a claim; `wake_at` alone never does (S2)."""
    if (
        thread.lease_token is not None
        and thread.lease_expires_at is not None
        and thread.lease_expires_at > now
    ):
        return False
    if thread.wake_at is None or thread.wake_at > now or turn.suspect or turn.is_terminal:
        return False
    if build in thread.incompatible_builds:
        return False
    return turn.status in CLAIMABLE


def claim(change: Change, owned: Owned, owner: Owner) -> Run | None:
    """Give the Thread to `owner`, or only bury the dead Run when the Turn may not go on yet.

    Every path touches the Thread, so `wake_at` follows. None says that nobody owns it now.
    """
    change.touch(owned.thread)
    if owned.run is not None:
        bury(change, owned)
        if owned.turn.status == TurnStatus.PAUSING:
            move(change, owned.turn, TurnStatus.PAUSED)  # no call is active any more (R047)
            return None
        if owned.turn.suspect or (owned.turn.held_until or change.now) > change.now:
            return None
    doubtful = any(call.state == CallState.UNKNOWN for call in owned.calls)
    if doubtful and not awaiting.goes_on(owned.calls):
        wait_for_unknown(change, owned.turn)
        return None
    return _begin(change, owned, owner)


def release(thread: Thread) -> None:
    """Give the lease back; the epoch stays, so that no token comes twice (I6)."""
    thread.lease_host = None
    thread.lease_token = None
    thread.lease_expires_at = None


def bury(change: Change, owned: Owned) -> None:
    """End a Run whose process died or stood still.

    LOST, counted on the Turn apart from its failures (S5).
    """
    turn, run = owned.turn, owned.run
    if run is None:
        return
    release(owned.thread)
    if owned.step is not None:
        _lose_step(change, owned, owned.step, run)
    end_run(change, turn, run, RunStatus.LOST, "its process died or lost the lease")
    turn.takeovers += 1
    turn.deaths += 1
    if turn.deaths >= HELD_AFTER_DEATHS:
        turn.held_until = change.now + min(
            FIRST_HOLD * 2 ** (turn.deaths - HELD_AFTER_DEATHS), LONGEST_HOLD
        )
    if turn.deaths >= SUSPECT_AFTER_DEATHS:
        turn.suspect = True
        _wait(change, turn, WaitReason.SUSPECT)
    for call in owned.calls:
        _judge_started(change, turn, call)
    if turn.cancel_request is not None:
        ending.abandon(change, owned)


def end_run(
    change: Change, turn: Turn, run: Run, status: RunStatus, reason: str | None = None
) -> None:
    """Close a Run and say so."""
    run.status = status
    run.ended_at = change.now
    run.reason = reason
    turn.run_id = None
    payload: dict[str, JsonValue] = {"status": status.value, "reason": reason}
    change.emit(turn.session_id, EventType.RUN_ENDED, payload, turn=turn, run=run.id)


def wait_for_unknown(change: Change, turn: Turn) -> None:
    """An effect whose outcome nobody can verify holds the Turn until there is evidence (law 7)."""
    _wait(change, turn, WaitReason.UNKNOWN)


def _wait(change: Change, turn: Turn, reason: WaitReason) -> None:
    if turn.status not in {TurnStatus.RUNNING, TurnStatus.WAITING}:
        return
    if turn.status == TurnStatus.RUNNING or turn.reason != reason:
        move(change, turn, TurnStatus.WAITING, reason)


def _lose_step(change: Change, owned: Owned, step: Step, run: Run) -> None:
    """The open Step is lost.

    An open REASONING Step may have sent a request, which stands as LOST (R068).
    """
    steps.end(change, run, owned.turn, step, StepStatus.LOST)
    if step.phase != StepPhase.REASONING or owned.turn.failed_for_good:
        return
    ordinal = owned.turn.rounds + 1
    lost = ModelCall(
        id=change.new_id("call_"),
        run=run,
        step=step,
        turn=owned.turn,
        ordinal=ordinal,
        attempt=owned.lost_calls + 1,
        status=ModelCallStatus.LOST,
        at=change.now,
    )
    change.add(lost)
    recording.lost(change, owned.turn, run, lost)


def _judge_started(change: Change, turn: Turn, call: ToolCall) -> None:
    """A local call with a start record and no outcome.

    Its effect class decides (design section 7).
    """
    if call.state != CallState.STARTED or call.deliver_at is not None:
        return
    if call.effect in {EffectClass.READ, EffectClass.IDEMPOTENT}:
        return
    tools.doubt(change, turn, call, "its process died while it ran")


def _begin(change: Change, owned: Owned, owner: Owner) -> Run:
    thread, turn = owned.thread, owned.turn
    thread.lease_epoch += 1
    thread.lease_host, thread.lease_token = owner.host_id, owner.token
    thread.lease_expires_at = owner.expires_at
    run = Run(
        id=change.new_id("run_"),
        session_id=turn.session_id,
        thread=thread,
        turn=turn,
        ordinal=owned.runs + 1,
        host=owner.host_id,
        token=owner.token,
        started_at=change.now,
    )
    turn.run_id = run.id
    turn.started_at = turn.started_at or change.now
    turn.retry_at = None
    turn.held_until = None
    if turn.status in {TurnStatus.QUEUED, TurnStatus.WAITING}:
        move(change, turn, TurnStatus.RUNNING)
    change.add(run)
    payload: dict[str, JsonValue] = {"runId": run.id, "ordinal": run.ordinal}
    change.emit(turn.session_id, EventType.RUN_STARTED, payload, turn=turn, run=run.id)
    steps.begin(change, run, turn, _first_phase(owned), 1, owned.interrupted)
    return run


def _first_phase(owned: Owned) -> StepPhase:
    replays = owned.thread.journal_position > owned.thread.checkpoint_position
    if owned.calls:
        return StepPhase.TOOL
    if replays or owned.turn.failed_for_good or owned.turn.cancel_request:
        return StepPhase.FINALIZATION  # no request leaves before the next commit
    return StepPhase.REASONING


def all_settled(calls: Sequence[ToolCall]) -> bool:
    """Whether no effect is open or UNKNOWN."""
    return all(call.state in SETTLED_CALLS for call in calls)
