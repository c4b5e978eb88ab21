"""Whether a command becomes an execution, and what a cancel finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import EffectClass
from hands_app.contract.messages import UpdateKind
from hands_app.machine.execution import (
    Decision,
    Execution,
    News,
    State,
    abandoned,
    cancelled,
    failed,
    settle,
)

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.messages import Cancel, Execute, ExecuteByReference

_NO_STORE: Final = (
    "its arguments are too large for a message, and the pool shares no object store with the agent"
)


class Admission(StrEnum):
    """What became of an execute command."""

    NEW = "new"
    """Admitted just now."""
    SAME = "same"
    """Known already; nothing runs a second time."""
    CONFLICT = "conflict"
    """The identity is known with another digest; refused (T21)."""
    TOMBSTONED = "tombstoned"
    """A cancel came first; nothing will run (R185, I29)."""
    TOO_LATE = "too late"
    """The command is older than its `not_after`; it leaves no trace, a fresh one may come (S8)."""
    TOO_LARGE = "too large"
    """Its arguments are in a store that this pool does not see: ended before it began (R192)."""


class Cancellation(StrEnum):
    """What a cancel found."""

    TOMBSTONED = "tombstoned"
    """Nothing yet: the identity is closed before its command came."""
    CANCELLED = "cancelled"
    """Not started: it is over."""
    ABANDONED = "abandoned"
    """It had begun before and would have been repeated: it is not (R185, I29)."""
    REQUESTED = "requested"
    """Started: the wish is recorded, the tool may heed it."""
    ALREADY = "already"
    """Ended, UNKNOWN, or asked for before."""
    CONFLICT = "conflict"
    """The identity is known with another digest; refused."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The outcome of `admit`, with what to write."""

    outcome: Admission
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class CancelFound:
    """The outcome of `cancel`, with what to write."""

    outcome: Cancellation
    decision: Decision | None = None


def admit(known: Execution | None, command: Execute, now: datetime, *, runnable: bool) -> Admitted:
    """Decide about an execute command; `runnable` says whether this host knows the tool."""
    if known is None:
        return _admit_new(command, now, runnable=runnable)
    if known.request_digest != command.request_digest:
        return Admitted(Admission.CONFLICT)
    if known.is_tombstone:
        return Admitted(Admission.TOMBSTONED)
    if known.is_terminal or known.not_after is None or known.not_after >= command.not_after:
        return Admitted(Admission.SAME)
    return Admitted(Admission.SAME, Decision(replace(known, not_after=command.not_after)))


def _admit_new(command: Execute, now: datetime, *, runnable: bool) -> Admitted:
    if now > command.not_after:
        return Admitted(Admission.TOO_LATE)
    news = News(UpdateKind.ADMITTED, {"runnable": runnable})
    return Admitted(Admission.NEW, Decision(_new(command, now), (news,)))


def _new(command: Execute | ExecuteByReference, now: datetime) -> Execution:
    return Execution(
        execution_id=command.execution_id,
        namespace=command.namespace,
        route=command.route,
        request_digest=command.request_digest,
        state=State.ADMITTED if command.binding.batch is None else State.DIVIDED,
        effect=command.binding.effect,
        binding_digest=command.binding.digest,
        available_at=now,
        not_after=command.not_after,
        admitted_at=now,
    )


def refuse(known: Execution | None, command: ExecuteByReference, now: datetime) -> Admitted:
    """Decide about a command whose arguments nobody here can read: it never starts."""
    if known is not None:
        same = known.request_digest == command.request_digest
        return Admitted(Admission.SAME if same else Admission.CONFLICT)
    if now > command.not_after:
        return Admitted(Admission.TOO_LATE)
    ended = settle(_new(command, now), failed("TOO_LARGE", _NO_STORE), now)
    return Admitted(Admission.TOO_LARGE, ended)


def cancel(known: Execution | None, command: Cancel, now: datetime) -> CancelFound:
    """Decide about a cancel: before the start it ends the execution, later it is a wish."""
    if known is None:
        return CancelFound(Cancellation.TOMBSTONED, _tombstone(command, now))
    if known.request_digest != command.request_digest:
        return CancelFound(Cancellation.CONFLICT)
    if known.is_terminal or known.state is State.UNKNOWN:
        return CancelFound(Cancellation.ALREADY)
    runs = known.state is State.STARTED or (known.state is State.DIVIDED and known.attempt > 0)
    ended = None if runs else _between_starts(known, now)
    if ended is not None:
        return ended
    if known.cancel_requested_at is not None:
        return CancelFound(Cancellation.ALREADY)
    wished = replace(known, cancel_requested_at=now)
    news = News(UpdateKind.PROGRESS, {"cancel": "accepted"})
    return CancelFound(Cancellation.REQUESTED, Decision(wished, (news,)))


def _between_starts(execution: Execution, now: datetime) -> CancelFound | None:
    """End what waits for a first start or another one; a lookup goes on, since it may tell more."""
    if execution.was_never_started or execution.effect is EffectClass.READ:
        ended = settle(execution, cancelled("cancelled before it started"), now)
        return CancelFound(Cancellation.CANCELLED, ended)
    if execution.effect is EffectClass.IDEMPOTENT:
        return CancelFound(Cancellation.ABANDONED, settle(execution, abandoned(), now))
    return None


def _tombstone(command: Cancel, now: datetime) -> Decision:
    result = cancelled("cancelled before its command arrived")
    grave = Execution(
        execution_id=command.execution_id,
        namespace=command.namespace,
        route=command.route,
        request_digest=command.request_digest,
        state=State.CANCELLED,
        effect=None,
        binding_digest=None,
        available_at=now,
        not_after=None,
        admitted_at=now,
        finished_at=now,
        cancel_requested_at=now,
        output_sealed_at=now,
    )
    return Decision(grave, (News(UpdateKind.RESULT, result.to_json()),), result)
