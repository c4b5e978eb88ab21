"""What an execution is to the machine, which moves are legal, and what a decision brings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hands_app.contract.messages import ExecutionResult, ExecutionState, ResultError, UpdateKind

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.binding import EffectClass
    from hands_app.contract.output import Gap
    from hands_app.contract.strict_json import JsonValue


class State(StrEnum):
    """Where an execution stands in the ledger."""

    ADMITTED = "ADMITTED"
    """Durable and free to be claimed from `available_at` on."""
    CLAIMED = "CLAIMED"
    """A host holds it under a lease; the effect has not begun in this attempt."""
    DIVIDED = "DIVIDED"
    """A batch: nobody owns it, its children are the work (R204)."""
    STARTED = "STARTED"
    """The start record is committed; from here on the effect may have happened (S10)."""
    COMPLETED = "COMPLETED"
    """It ran to its end."""
    FAILED = "FAILED"
    """It did not do what was asked, and nothing is in doubt."""
    CANCELLED = "CANCELLED"
    """It never started, or the tool confirmed that it stopped."""
    UNKNOWN = "UNKNOWN"
    """It was started and nobody can say how it ended; only evidence ends this (I28)."""


class Resume(StrEnum):
    """What the next claim of an execution does first."""

    RUN = "run"
    """Write the start record and run the tool."""
    LOOKUP = "lookup"
    """Ask the tool's lookup what became of the last attempt."""


TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
OWNED: Final = frozenset({State.CLAIMED, State.STARTED})

LEGAL: Final[dict[State, frozenset[State]]] = {
    State.ADMITTED: frozenset({State.CLAIMED, State.FAILED, State.CANCELLED}),
    State.CLAIMED: frozenset({State.ADMITTED, State.STARTED, State.UNKNOWN}) | TERMINAL,
    State.STARTED: frozenset({State.ADMITTED, State.UNKNOWN}) | TERMINAL,
    State.DIVIDED: TERMINAL | {State.UNKNOWN},
    State.UNKNOWN: TERMINAL,
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
"""Every legal move; the ledger's CHECK constraints say the rest."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The columns of one execution that decisions rest on.

    `batch_id` is the batch that a child belongs to (R204).

    `effect` and `binding_digest` are None for a tombstone: a cancel that came before its command.
    `token` stays after the end, so that an owner whose answer was lost finds its own outcome (S7).
    """

    execution_id: str
    namespace: str
    route: str
    request_digest: str
    state: State
    effect: EffectClass | None
    binding_digest: str | None
    available_at: datetime
    not_after: datetime | None
    admitted_at: datetime
    attempt: int = 0
    lookups: int = 0
    resume: Resume = Resume.RUN
    host_id: str | None = None
    token: str | None = None
    lease_until: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    last_sequence: int = 0
    output_bytes: int = 0
    output_sealed_at: datetime | None = None
    batch_id: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether nothing can change it any more."""
        return self.state in TERMINAL

    @property
    def is_tombstone(self) -> bool:
        """Whether a cancel came before the command (R185)."""
        return self.binding_digest is None

    @property
    def was_never_started(self) -> bool:
        """Whether surely no effect exists: no attempt has a start record."""
        return self.attempt == 0


@dataclass(frozen=True, slots=True)
class News:
    """One update to put into the outbox; the ledger gives it id, sequence and time."""

    kind: UpdateKind
    payload: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an attempt's output at its place: bytes, or a gap that has none (R190)."""

    start: int
    size: int
    attempt: int
    body: bytes | None = field(default=None, repr=False)
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The execution as it shall be, what to tell, the result if there is one, output to keep."""

    execution: Execution
    news: tuple[News, ...] = ()
    result: ExecutionResult | None = None
    output: tuple[Piece, ...] = ()


class Refusal(StrEnum):
    """Why an owner's change does not count; an ordinary answer (law 9)."""

    LOST = "lost"
    """Another owner holds it or the lease ended: stop, write nothing."""
    CANCELLED = "cancelled"
    """It was cancelled before the start: there is nothing to do."""
    TOO_LATE = "too late"
    """It would have started after `not_after`."""


def move(execution: Execution, state: State, **changes: object) -> Execution:
    """Return the execution in another state; raise ValueError for an illegal move."""
    if state not in LEGAL[execution.state]:
        message = f"{execution.execution_id}: {execution.state} cannot become {state}"
        raise ValueError(message)
    return replace(execution, state=state, **changes)  # type: ignore[arg-type]


def settle(execution: Execution, result: ExecutionResult, now: datetime) -> Decision:
    """End an execution, or call it UNKNOWN, and tell.

    What has ended writes no more: its output is sealed, and told of, before the result (I31).
    """
    ended = move(execution, State(result.state), lease_until=None, finished_at=now)
    if ended.is_terminal:
        ended = replace(ended, output_sealed_at=now)
    written = (output_news(ended),) if ended.output_bytes else ()
    return Decision(ended, (*written, News(UpdateKind.RESULT, result.to_json())), result)


def output_news(execution: Execution) -> News:
    """Tell how much output can be read."""
    sealed = execution.output_sealed_at is not None
    return News(UpdateKind.OUTPUT, {"available": execution.output_bytes, "sealed": sealed})


def give_back(
    execution: Execution, available_at: datetime, resume: Resume = Resume.RUN
) -> Decision:
    """Return an execution to those that may be claimed."""
    back = move(
        execution, State.ADMITTED, available_at=available_at, lease_until=None, resume=resume
    )
    return Decision(back)


def failed(code: str, message: str) -> ExecutionResult:
    """Make the result of an execution that did not do what was asked."""
    return _without_content(ExecutionState.FAILED, code, message)


def abandoned() -> ExecutionResult:
    """Make the result of an execution that began and, once cancelled, is not repeated."""
    return failed("ABANDONED", "it began, left no outcome and was not repeated: it was cancelled")


def cancelled(message: str) -> ExecutionResult:
    """Make the result of an execution that has no effect because it was cancelled."""
    return _without_content(ExecutionState.CANCELLED, "CANCELLED", message)


def unknown(message: str) -> ExecutionResult:
    """Make the result of an execution whose outcome nobody knows."""
    return _without_content(ExecutionState.UNKNOWN, "UNCERTAIN", message)


def _without_content(state: ExecutionState, code: str, message: str) -> ExecutionResult:
    return ExecutionResult(state=state, error=ResultError(code=code, message=message))
