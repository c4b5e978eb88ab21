"""Rows to views: the one place that says which columns are public (law 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.strict_json import digest
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import CallState, CheckpointKind, TurnStatus
from sessions_app.contract.views import (
    CheckpointView,
    InteractionView,
    MessageView,
    ModelCallView,
    RecoveryView,
    RuleView,
    RunView,
    SessionView,
    StepView,
    ThreadView,
    ToolView,
    TurnView,
    UsageView,
    public_execution,
)

if TYPE_CHECKING:
    from sessions_app.contract.identity import SessionKey, ThreadKey
    from sessions_app.models import (
        Checkpoint,
        Interaction,
        Message,
        ModelCall,
        Run,
        Session,
        StandingRule,
        Step,
        Thread,
        ToolCall,
        Turn,
    )


def session_view(row: Session) -> SessionView:
    """A Session as readers see it."""
    return SessionView(row.key, row.status, row.last_sequence, row.created_at, row.closed_at)


def thread_view(row: Thread, session: SessionKey) -> ThreadView:
    """A Thread as readers see it."""
    return ThreadView(row.key_in(session), row.status, row.pin, row.created_at)


def turn_view(row: Turn) -> TurnView:
    """A Turn as readers see it; `row.thread.session` has to be loaded."""
    return TurnView(
        turn_id=row.id,
        key=row.thread.key_in(row.thread.session.key),
        request_id=row.request_id,
        status=TurnStatus(row.status),
        revision=row.revision,
        reason=row.reason,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        result=row.result,
        error_code=row.error_code,
        error_text=row.error_text,
        recovery=recovery_view(row),
        usage=UsageView(row.requests, row.input_tokens, row.output_tokens, row.usage_complete),
        takeovers=row.takeovers,
        rounds=row.rounds,
    )


def recovery_view(row: Turn) -> RecoveryView | None:
    """The recovery record; None before the first failure (R155)."""
    if row.policy_retries is None:
        return None
    return RecoveryView(
        failures=row.failures,
        retries=row.policy_retries,
        first_delay_ms=row.policy_first_ms or 0,
        max_delay_ms=row.policy_max_ms or 0,
        next_try_at=row.retry_at,
        error_class=row.error_class or "",
        error_code=row.error_code or "",
    )


def message_view(row: Message, thread: ThreadKey) -> MessageView:
    """A logical message as readers see it."""
    return MessageView(
        message_id=row.id,
        role=row.role,
        turn_id=row.turn_id,
        key=thread,
        parts=row.parts,
        sequence=row.sequence,
        attempt=row.attempt,
        revision=row.revision,
        input_kind=row.input_kind,
        request_id=row.request_id,
        interaction_id=row.interaction_id,
        run_id=row.run_id,
    )


def tool_view(row: ToolCall, thread: ThreadKey) -> ToolView:
    """A tool call as readers see it; its error text is for the model, and its binding private."""
    result = row.result if isinstance(row.result, dict) and row.received_at else {}
    return ToolView(
        call_id=row.call_id,
        name=row.name,
        turn_id=row.turn_id,
        key=thread,
        round=row.round,
        ordinal=row.ordinal,
        route=row.route,
        arguments=row.arguments,
        requested_at=row.intended_at,
        run_id=row.applied_run or row.origin_run,
        execution_id=public_execution(row.route, row.id),
        state=CallState(row.state),
        attempts=row.attempts,
        started_at=row.started_at,
        progress=row.progress,
        output_bytes=row.output_bytes,
        output_sealed=row.output_sealed,
        received_at=row.received_at,
        result=result.get("content"),
        error_code=row.error_code if row.received_at else None,
        applied_at=row.applied_at,
        cancel_requested_at=row.cancel_requested_at,
        cancel_accepted_at=row.cancel_accepted_at,
    )


def interaction_view(row: Interaction) -> InteractionView:
    """An interaction as readers see it; `row.call` and `row.turn.thread.session` are loaded."""
    call = row.call
    answer = row.answer if isinstance(row.answer, dict) else {}
    return InteractionView(
        interaction_id=row.id,
        turn_id=row.turn_id,
        key=row.turn.thread.key_in(row.turn.thread.session.key),
        kind=row.kind,
        status=row.status,
        tool=call.name,
        call_id=call.call_id,
        execution_id=call.id,
        arguments=call.arguments,
        arguments_digest=digest(call.arguments),
        risk=row.risk,
        assignee=row.assignee,
        opened_at=row.opened_at,
        expires_at=row.expires_at,
        set_aside_at=row.set_aside_at,
        set_aside_by=row.set_aside_by,
        decision=answer.get("decision", "answered") if row.answered_at else None,
        reason=row.reason,
        answered_by=row.answered_by,
        answered_at=row.answered_at,
        rule_id=row.rule_id,
        call_state=call.state,
        allowed_at=call.allowed_at,
        started_at=call.started_at,
        received_at=call.received_at,
        applied_at=call.applied_at,
    )


def rule_view(row: StandingRule) -> RuleView:
    """A standing rule as readers see it; `row.session` is loaded."""
    return RuleView(
        rule_id=row.id,
        namespace=row.namespace,
        tool=row.tool,
        allow=row.allow,
        definition=row.definition,
        session_id=row.session.session_id if row.session else None,
        arguments_digest=row.arguments_digest,
        reason=row.reason,
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        revoked_by=row.revoked_by,
    )


def checkpoint_view(row: Checkpoint) -> CheckpointView:
    """A checkpoint as readers see it: where it stands, never what it holds."""
    pin = DefinitionKey(row.definition, row.version, row.state_version)
    return CheckpointView(
        row.ordinal, row.position, CheckpointKind(row.kind), row.turn_id, pin, row.framework, row.at
    )


def run_view(row: Run) -> RunView:
    """A Run as readers see it; its token stays private."""
    return RunView(
        row.id,
        row.turn_id,
        row.ordinal,
        row.status,
        row.host,
        row.started_at,
        row.ended_at,
        row.reason,
    )


def step_view(row: Step) -> StepView:
    """A Step as readers see it."""
    return StepView(
        row.id,
        row.run_id,
        row.ordinal,
        row.phase,
        row.status,
        row.started_at,
        row.ended_at,
        row.resumed_from,
    )


def model_call_view(row: ModelCall) -> ModelCallView:
    """A model request as observed; what is unknown stays None (R066)."""
    return ModelCallView(
        call_id=row.id,
        run_id=row.run_id,
        step_id=row.step_id,
        path=row.path,
        ordinal=row.ordinal,
        attempt=row.attempt,
        status=row.status,
        model=row.model,
        requests=row.requests,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        duration_ms=row.duration_ms,
        cached_tokens=row.cached_tokens,
        reasoning_tokens=row.reasoning_tokens,
        level=row.level,
        error_code=row.error_code,
    )
