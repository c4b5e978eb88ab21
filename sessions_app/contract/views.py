"""What readers get.

Views hold public facts only: no checkpoint, no reasoning, no token (law 10).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sessions_app.contract.status import TERMINAL, CallState, TurnStatus

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
    from sessions_app.contract.status import CheckpointKind


@dataclass(frozen=True, slots=True)
class SessionView:
    """One conversation."""

    key: SessionKey
    status: str
    last_sequence: int
    created_at: datetime
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ThreadView:
    """The running context of one agent."""

    key: ThreadKey
    status: str
    definition: DefinitionKey
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CheckpointView:
    """A place from which a Thread can go on; what it holds is private (R019, R088)."""

    ordinal: int
    position: int
    kind: CheckpointKind
    turn_id: str
    definition: DefinitionKey
    framework: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RecoveryView:
    """Recovery record of a Turn; None on the view before the first failure (R155)."""

    failures: int
    retries: int
    first_delay_ms: int
    max_delay_ms: int
    next_try_at: datetime | None
    error_class: str
    error_code: str


@dataclass(frozen=True, slots=True)
class UsageView:
    """Sums of known counts.

    None means unknown, `complete` False means partial accounting (R066).
    """

    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class TurnView:
    """A submitted task: what it is, where it stands, what came out."""

    turn_id: str
    key: ThreadKey
    request_id: str
    status: TurnStatus
    revision: int
    reason: str | None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    result: JsonValue = None
    error_code: str | None = None
    error_text: str | None = None
    recovery: RecoveryView | None = None
    usage: UsageView = field(default_factory=UsageView)
    takeovers: int = 0
    rounds: int = 0

    @property
    def is_terminal(self) -> bool:
        """True when the Turn has ended and never starts again (R053)."""
        return self.status in TERMINAL


@dataclass(frozen=True, slots=True)
class MessageView:
    """One logical message.

    Completed text replaces drafts, `attempt` and `revision` only grow (R072).
    """

    message_id: str
    role: str
    turn_id: str
    key: ThreadKey
    parts: JsonValue
    sequence: int
    attempt: int = 1
    revision: int = 1
    input_kind: str | None = None
    request_id: str | None = None
    interaction_id: str | None = None  # that it answered
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolView:
    """One tool call, run here or elsewhere (R078, R079).

    Request, start, progress, receipt and application are separate facts (R080); so are the wish to
    cancel it, its acceptance by the pool, and its end, which alone says whether it was cancelled.
    `run_id` is the Run that it belongs to at present: the one that asked for it, later the one that
    applied its result.
    """

    call_id: str
    name: str
    turn_id: str
    key: ThreadKey
    round: int
    ordinal: int
    route: str
    arguments: JsonValue
    requested_at: datetime
    run_id: str | None
    execution_id: str | None = None
    state: CallState = CallState.INTENDED
    attempts: int = 0
    started_at: datetime | None = None
    progress: JsonValue = None
    output_bytes: int = 0
    output_sealed: bool = False
    received_at: datetime | None = None
    result: JsonValue = None
    error_code: str | None = None
    applied_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    cancel_accepted_at: datetime | None = None

    @property
    def place(self) -> str:
        """What tells it from every other call of the Session; call ids may repeat (C52)."""
        return f"{self.turn_id}/{self.round}/{self.ordinal}"


@dataclass(frozen=True, slots=True)
class OutputView:
    """A page of what a tool wrote (R190): bytes of one attempt, or a gap, or nothing (yet).

    `gap` says why bytes are missing and `lost` how many, None where nobody knows. Go on at `next`;
    where that is `offset` there is no more, for good when `sealed`. `available` is where what is
    recorded ends.
    """

    offset: int
    next: int
    data: bytes = b""
    gap: str | None = None
    lost: int | None = None
    attempt: int = 0
    available: int = 0
    sealed: bool = False


def public_execution(route: str, execution_id: str) -> str | None:
    """The execution id, which only calls that a ledger of Hands knows show (R079)."""
    return None if route in {"local", "manual", "signal"} else execution_id


@dataclass(frozen=True, slots=True)
class RunView:
    """One in-process invocation."""

    run_id: str
    turn_id: str
    ordinal: int
    status: str
    host_id: str
    started_at: datetime
    ended_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StepView:
    """One phase of a Run."""

    step_id: str
    run_id: str
    ordinal: int
    phase: str
    status: str
    started_at: datetime
    ended_at: datetime | None = None
    resumed_from: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCallView:
    """One logical model request as observed (R064)."""

    call_id: str
    run_id: str
    step_id: str | None
    path: str
    ordinal: int
    attempt: int
    status: str
    model: str
    requests: int | None
    input_tokens: int | None
    output_tokens: int | None
    duration_ms: int | None
    cached_tokens: int | None = None  # of the input
    reasoning_tokens: int | None = None  # of the output
    level: str = "MODEL_CALL"  # where it was observed (R067)
    error_code: str | None = None

    @property
    def retries(self) -> int | None:
        """Requests behind the first; None when nobody counted them."""
        return None if self.requests is None else self.requests - 1


@dataclass(frozen=True, slots=True)
class InteractionView:
    """What a person is asked: the exact arguments, and how far the call behind it has come.

    `decision` is `allow`, `deny` or `answered`; a manual answer's content is the call's result.
    `allowed_at`, `started_at`, `received_at` and `applied_at` are facts of the call, each of its
    own (R080).
    """

    interaction_id: str
    turn_id: str
    key: ThreadKey
    kind: str
    status: str
    tool: str
    call_id: str
    execution_id: str
    arguments: JsonValue
    arguments_digest: str
    risk: str
    assignee: str
    opened_at: datetime
    expires_at: datetime | None = None
    set_aside_at: datetime | None = None
    set_aside_by: str | None = None
    decision: str | None = None
    reason: str = ""
    answered_by: str | None = None
    answered_at: datetime | None = None
    rule_id: str | None = None
    call_state: str = ""
    allowed_at: datetime | None = None
    started_at: datetime | None = None
    received_at: datetime | None = None
    applied_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RuleView:
    """A standing rule: which calls it answers, and how; a scope that is None covers all."""

    rule_id: str
    namespace: str
    tool: str
    allow: bool
    definition: str | None
    session_id: str | None
    arguments_digest: str | None
    reason: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of admission, the same for every repeat of the same request (R030, R043).

    `sequence` is the first event of the admission, or the newest one when it made none; `outcome`
    says what came of the request, `subject` names the input or interaction that it is about.
    """

    request_id: str
    operation: str
    turn_id: str
    thread_id: str
    sequence: int
    outcome: str = "admitted"
    subject: str | None = None
