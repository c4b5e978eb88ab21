"""Asking people: an interaction opens, is resolved once, and is consumed once (I35)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hands_app.contract.binding import BY_SIGNAL
from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.events import EventType
from sessions_app.contract.status import CallState, InteractionKind, InteractionStatus, TurnStatus
from sessions_app.machine import awaiting, rules, signals, tools
from sessions_app.machine.awaiting import BY_PERSON, IN_PROCESS
from sessions_app.models import AuditEntry, Interaction

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.decisions import Decision
    from sessions_app.machine.awaiting import Awaiting
    from sessions_app.machine.change import Change
    from sessions_app.models import ToolCall

EXPIRED = "EXPIRED"
DENIED = "DENIED"
_UNANSWERED = "Nobody answered in time, so the call was not made."
_REFUSED = "The call was refused by a person"
_REFUSED_BY_RULE = "The call was refused by a standing rule"


def approval(change: Change, rows: Awaiting, call: ToolCall) -> None:
    """Ask whether the call may begin; a standing rule in force answers in this very commit."""
    before = rows.turn.wait_deadline
    asked = _open(change, rows, call, InteractionKind.APPROVAL)
    rule = rules.choose(rows.rules, rows.session, rows.thread, call, change.now)
    if rule is None:
        return
    rows.turn.wait_deadline = before  # nobody is asked, so nothing expires
    asked.rule = rule
    decision = rules.decision(rule)
    change.add(
        AuditEntry(
            id=change.new_id("aud_"),
            session=rows.session,
            actor=f"rule of {rule.created_by}"[:128],
            action="interaction.answered-by-rule",
            target=asked.id,
            reason=rule.reason,
            after={"rule": rule.id, "decision": decision.word, "executionId": call.id},
            at=change.now,
        )
    )
    decide(change, rows, asked, call, decision)


def decide(
    change: Change, rows: Awaiting, asked: Interaction, call: ToolCall, decision: Decision
) -> None:
    """Record a decision on a gated call and do what follows from it."""
    asked.answer = decision.stored()
    asked.reason = decision.reason
    resolve(change, rows, asked, InteractionStatus.ANSWERED, {"decision": decision.word})
    if decision.allow:
        call.allowed_at = change.now
        begin(change, rows, call)
        return
    why = _REFUSED_BY_RULE if asked.rule_id else _REFUSED
    text = f"{why}: {decision.reason}" if decision.reason else f"{why}."
    _refuse(change, rows, call, DENIED, text)
    awaiting.consume(change, asked)


def begin(change: Change, rows: Awaiting, call: ToolCall) -> None:
    """An allowed call goes its way: to a person, a wait, its pool, or to who runs it here.

    Nothing leaves while the Turn is paused; the look after the resume sends it (R050).
    """
    if call.route == BY_PERSON:
        _open(change, rows, call, InteractionKind.MANUAL)
    elif call.route == BY_SIGNAL:
        signals.open_for(change, rows, call)
    elif call.route in IN_PROCESS or rows.turn.status in {TurnStatus.PAUSED, TurnStatus.PAUSING}:
        return
    else:
        call.deliver_at = change.now
    awaiting.consumed(change, rows, call)


def resolve(
    change: Change,
    rows: Awaiting,
    asked: Interaction,
    status: InteractionStatus,
    facts: dict[str, JsonValue],
) -> None:
    """The interaction is no longer open; said once, whatever ended it."""
    asked.status = status
    if status == InteractionStatus.ANSWERED:
        asked.answered_at = change.now
    payload: dict[str, JsonValue] = {
        "interactionId": asked.id,
        "kind": asked.kind,
        "status": status.value,
        "executionId": asked.call_id,
        "by": asked.answered_by,
        "rule": asked.rule_id,
        "requestId": asked.request_id,
        **facts,
    }
    change.emit(rows.session.id, EventType.INTERACTION_RESOLVED, payload, turn=rows.turn)


def expire(change: Change, rows: Awaiting) -> None:
    """Close what was not answered in time; the model is told so (4.1 row 26)."""
    for asked in rows.open_questions():
        if asked.expires_at is None or asked.expires_at > change.now:
            continue
        resolve(change, rows, asked, InteractionStatus.EXPIRED, {"decision": None})
        call = rows.call(asked.call_id)
        if call is not None and call.state == CallState.INTENDED:
            _refuse(change, rows, call, EXPIRED, _UNANSWERED)


def close(change: Change, rows: Awaiting) -> None:
    """What was not begun never will be: nobody is asked, and nothing is waited for, any more."""
    for asked in rows.open_questions():
        resolve(change, rows, asked, InteractionStatus.CLOSED, {"decision": None})
    signals.close_waits(change, rows)
    rows.turn.wait_deadline = None


def _refuse(change: Change, rows: Awaiting, call: ToolCall, code: str, text: str) -> None:
    draft = ResultDraft(
        execution_id=call.id,
        state=CallState.DENIED,
        content={"code": code},
        error_code=code,
        error_text=text,
    )
    tools.settle(change, rows.turn, call, draft)


def _open(change: Change, rows: Awaiting, call: ToolCall, kind: InteractionKind) -> Interaction:
    asked = Interaction(
        id=change.new_id("int_"),
        session=rows.session,
        turn=rows.turn,
        call=call,
        kind=kind,
        status=InteractionStatus.OPEN,
        arguments_digest=call.request_digest,
        risk=str(call.binding.get("risk") or call.effect)[:16],
        assignee=str(call.binding.get("assignee") or "")[:128],
        expires_at=_expiry(change.now, call, kind),
        opened_at=change.now,
    )
    change.add(asked)
    rows.asked.append(asked)
    awaiting.lower(rows.turn, asked.expires_at)
    payload: dict[str, JsonValue] = {
        "interactionId": asked.id,
        "kind": kind.value,
        "expiresAt": asked.expires_at.isoformat() if asked.expires_at else None,
        **tools.names(call),
    }
    change.emit(
        rows.session.id,
        EventType.INTERACTION_OPENED,
        payload,
        turn=rows.turn,
        run=rows.turn.run_id,
    )
    return asked


def _expiry(now: datetime, call: ToolCall, kind: InteractionKind) -> datetime | None:
    """As the binding says: how long a person may take; a manual call has its deadline beside."""
    seconds = call.binding.get("answerWithin")
    if seconds is None and kind == InteractionKind.MANUAL:
        seconds = call.binding.get("deadline")
    return None if seconds is None else now + timedelta(seconds=float(seconds))
