"""The words for states. Each enum is the single list that models, machine, views and docs use."""

from __future__ import annotations

from enum import StrEnum


class TurnStatus(StrEnum):
    """Where a Turn stands (4.1 row 1). The last three are terminal."""

    QUEUED = "QUEUED"  # admitted, not begun
    RUNNING = "RUNNING"  # a host owns it and works
    WAITING = "WAITING"  # nobody owns it; `reason` says what it waits for
    PAUSING = "PAUSING"  # a pause was asked for; the owner stops at its next safe boundary
    PAUSED = "PAUSED"  # stopped by a person
    CANCELLING = "CANCELLING"  # a cancel was recorded; effects settle
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


TERMINAL = frozenset({TurnStatus.COMPLETED, TurnStatus.FAILED, TurnStatus.CANCELLED})


class WaitReason(StrEnum):
    """Why a Turn is WAITING; the first cause, as `explain` names it."""

    TOOL = "tool"  # results of external executions
    INTERACTION = "interaction"  # a person's answer
    SIGNAL = "signal"  # an x.* signal or a deadline
    BACKOFF = "backoff"  # the next try after a failure
    UNKNOWN = "unknown"  # an effect whose outcome nobody can verify
    SUSPECT = "suspect"  # it took several processes down
    INCOMPATIBLE = "incompatible"  # no host that looked could run the pinned definition
    HANDED_OVER = "handed-over"  # its host drained; another one claims at once


class RunStatus(StrEnum):
    """How an in-process invocation stands or ended (R059)."""

    OPEN = "OPEN"
    COMPLETED = "COMPLETED"  # the Turn ended in it
    SUSPENDED = "SUSPENDED"  # the Turn waits; the slot was given back
    FAILED = "FAILED"  # it raised; recovery decides
    LOST = "LOST"  # its process died or lost the lease
    HANDED_OVER = "HANDED_OVER"  # drain, lost compatibility


class StepPhase(StrEnum):
    """What a Step of a Run did (R061)."""

    REASONING = "REASONING"
    TOOL = "TOOL"
    FINALIZATION = "FINALIZATION"


class StepStatus(StrEnum):
    """How a Step stands or ended."""

    OPEN = "OPEN"
    COMPLETED = "COMPLETED"
    LOST = "LOST"
    FAILED = "FAILED"


class ModelCallStatus(StrEnum):
    """What is known of a request to a model (R068)."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    LOST = "LOST"  # it may have been answered; nobody heard it


class CallState(StrEnum):
    """Where a tool call stands; receipt and application are separate facts (R080)."""

    INTENDED = "INTENDED"  # stored, nothing begun
    STARTED = (
        "STARTED"  # a start record exists (S10) or, for Hands, it counts as possibly sent (S9)
    )
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"  # the tool or its executor answered with an error result
    DENIED = "DENIED"  # a person refused
    CANCELLED = "CANCELLED"  # confirmed
    NOT_EXECUTED = "NOT_EXECUTED"  # settled without a start
    UNKNOWN = "UNKNOWN"  # started, and nobody can say how it ended (law 7)


SETTLED_CALLS = frozenset(
    {
        CallState.COMPLETED,
        CallState.FAILED,
        CallState.DENIED,
        CallState.CANCELLED,
        CallState.NOT_EXECUTED,
    }
)


class SignalKind(StrEnum):
    """Input to a running Turn."""

    STEER = "STEER"  # direction; makes a reasoning step happen
    INJECT = "INJECT"  # material; read at the next reasoning step
    EXTERNAL = "EXTERNAL"  # an x.* signal


class SignalStatus(StrEnum):
    """What became of an input."""

    PENDING = "PENDING"  # the next boundary takes it in
    KEPT = "KEPT"  # an x.* signal that nobody waits for yet (S25)
    APPLIED = "APPLIED"
    WITHDRAWN = "WITHDRAWN"
    CLOSED = "CLOSED"  # the Turn ended first


class WaitStatus(StrEnum):
    """What became of a wait condition."""

    OPEN = "OPEN"
    SIGNALLED = "SIGNALLED"
    EXPIRED = "EXPIRED"  # its deadline passed first
    CLOSED = "CLOSED"  # the Turn ended first


class InteractionKind(StrEnum):
    """What a person is asked for."""

    APPROVAL = "APPROVAL"
    MANUAL = "MANUAL"


class InteractionStatus(StrEnum):
    """Answered once, consumed once."""

    OPEN = "OPEN"
    ANSWERED = "ANSWERED"  # decided; what was allowed has not begun
    CONSUMED = "CONSUMED"  # the call began, or the answer is its result
    EXPIRED = "EXPIRED"  # nobody answered in time
    CLOSED = "CLOSED"  # the Turn ended, or began to end, first


class Lifecycle(StrEnum):
    """A Session or Thread takes Turns until it is closed (R027)."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"


class EntryKind(StrEnum):
    """What a journal entry holds; bodies are private to the harness that wrote them."""

    ITEMS = "ITEMS"  # native history items: user input, tool results, applied signals
    OUTCOME = "OUTCOME"  # a completed model outcome, under (turn, path, ordinal)


class CheckpointKind(StrEnum):
    """What a checkpoint is good for."""

    BOUNDARY = "BOUNDARY"  # in mid-Turn: recovery goes on from here
    SETTLED = "SETTLED"  # between Turns: restore and fork may start here (R135)
    BASELINE = "BASELINE"  # imported state
