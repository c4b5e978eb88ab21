"""What each persisted event carries: a model for each type (R096, R097).

A model's docstring is the fact that the event states; the reference page shows it.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hands_app.contract.strict_json import JsonValue


class Payload(BaseModel):
    """Base of all payloads: closed and frozen, camelCase on the wire."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class SessionCreated(Payload):
    """A Session came into being."""

    namespace: str
    session_id: str


class SessionClosed(Payload):
    """A Session takes no more Turns."""


class ThreadCreated(Payload):
    """A Thread came into being, pinned to its definition."""

    definition: str
    version: str
    state_version: int


class ThreadClosed(Payload):
    """A Thread takes no more Turns."""


class ThreadRepinned(Payload):
    """An operator moved a Thread to another version of its agent."""

    definition: str
    version: str
    state_version: int


class TurnAdmitted(Payload):
    """A Turn was accepted: from here on it survives everything."""

    request_id: str
    ordinal: int


class TurnMoved(Payload):
    """Its status or what it waits for changed; a completed Turn has its result here (R076)."""

    came_from: str = Field(alias="from")
    to: str
    revision: int
    reason: str | None
    result: JsonValue = None


class TurnRecovery(Payload):
    """A failure was charged: count, policy in force, next try or none."""

    failures: int
    retries: int
    first_delay_ms: int
    max_delay_ms: int
    next_try_at: datetime | None
    error_class: str
    error_code: str
    error_text: str


class TurnIncompatible(Payload):
    """A host could not run the pinned definition."""

    reason: str
    definition: str


class TurnUsage(Payload):
    """Model requests were counted: the sums of the Turn as they stand now (R065, R066)."""

    requests: int
    input_tokens: int | None
    output_tokens: int | None
    complete: bool
    rounds: int


class RunStarted(Payload):
    """A process began an invocation."""

    run_id: str
    ordinal: int


class RunEnded(Payload):
    """It ended, and how."""

    status: str
    reason: str | None


class StepStarted(Payload):
    """A phase of a Run began; `resumedFromStepId` names the one that it takes up (R060)."""

    step_id: str
    phase: str
    ordinal: int
    resumed_from_step_id: str | None


class StepEnded(Payload):
    """A phase of a Run ended."""

    step_id: str
    phase: str
    status: str


class MessageCompleted(Payload):
    """The whole text of a message; replaces all that was seen of it."""

    message_id: str
    role: str
    attempt: int
    revision: int
    parts: JsonValue
    input_kind: str | None = None
    request_id: str | None = None
    interaction_id: str | None = None


class ModelCallLost(Payload):
    """A request died with its process; its usage is unknown for ever."""

    model_call_id: str
    ordinal: int
    attempt: int


class ToolFact(Payload):
    """How events name a call."""

    call_id: str
    execution_id: str
    name: str
    round: int
    ordinal: int


class ToolRequested(ToolFact):
    """The model asked for a tool; the intent is stored with the full arguments."""

    arguments: JsonValue
    route: str


class ToolStarted(ToolFact):
    """The start record was written, just before the effect."""

    attempt: int


class ToolProgress(ToolFact):
    """A running tool gave a sign of life."""

    progress: JsonValue


class ToolOutput(ToolFact):
    """So much output of the call can be read; what it says is asked for by offset (R190)."""

    bytes: int
    sealed: bool


class ToolResult(ToolFact):
    """The result was received and stored; no checkpoint contains it yet."""

    state: str
    error_code: str | None
    content: JsonValue


class ToolApplied(ToolFact):
    """A checkpoint contains the result."""


class ToolUnknown(ToolFact):
    """Nobody can say how the call ended; only evidence can (law 7)."""


class ToolCancelRequested(ToolFact):
    """Its pool is asked to stop it, again and again until it answers; nothing is proven by that."""


class ToolCancelAccepted(ToolFact):
    """The pool has the wish; only `tool.result` says whether and how it ended."""


class SignalFact(Payload):
    """How events name an input."""

    signal_id: str
    request_id: str


class SignalAdmitted(SignalFact):
    """An input to a running Turn was accepted."""

    kind: str
    name: str | None = None


class SignalApplied(SignalFact):
    """A checkpoint contains the input, or it is the result of the execution named."""

    execution_id: str | None = None


class SignalWithdrawn(SignalFact):
    """The input was taken back before it was applied."""


class SignalClosed(SignalFact):
    """The Turn ended before the input was applied."""


class InteractionOpened(ToolFact):
    """A person is asked; after `expiresAt` nobody can answer any more."""

    interaction_id: str
    kind: str
    expires_at: datetime | None


class InteractionSetAside(Payload):
    """Somebody put the question off; it stays open."""

    interaction_id: str
    by: str
    reason: str


class InteractionResolved(Payload):
    """The question was answered, by a person or a standing rule, or it expired or was closed."""

    interaction_id: str
    execution_id: str
    kind: str
    status: str
    decision: str | None
    by: str | None
    rule: str | None
    request_id: str | None


class WaitOpened(Payload):
    """The Turn waits for a signal of this key; without a deadline, for nothing else."""

    wait_id: str
    key: str
    deadline: datetime | None
    execution_id: str | None


class WaitEnded(Payload):
    """A signal came, the deadline passed, or the Turn ended first."""

    wait_id: str
    key: str
    status: str
    signal_id: str | None
