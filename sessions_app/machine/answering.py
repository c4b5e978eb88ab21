"""Answering: what a person's answer does, and what became due while nobody owned the Turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hands_app.contract.strict_json import canonical
from sessions_app.contract import schemas
from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.content import user_input
from sessions_app.contract.decisions import Decision, checked_json, decision
from sessions_app.contract.errors import Conflict
from sessions_app.contract.events import EventType
from sessions_app.contract.status import CallState, InteractionKind, InteractionStatus
from sessions_app.machine import asking, awaiting, signals, tools
from sessions_app.machine.control_table import Operation, permit
from sessions_app.machine.messages import user_message
from sessions_app.models import AuditEntry, Interaction

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.machine.awaiting import Awaiting
    from sessions_app.machine.change import Change
    from sessions_app.models import ToolCall

_DECIDED: Final = frozenset({InteractionStatus.ANSWERED, InteractionStatus.CONSUMED})
_DONE: Final = "look at its turn; nothing was changed"


def respond(
    change: Change,
    rows: Awaiting,
    asked: Interaction,
    given: JsonValue,
    by: str | None,
    request_id: str,
) -> str:
    """Answer an interaction once; gives the decision in one word (R144, I35).

    Raises Invalid for the wrong kind of answer, Closed when the Turn ended, and Conflict for an
    interaction that was decided, has expired or is no longer what it was opened for.
    """
    answer = _read(asked, given)
    call = _open_call(change, rows, asked)
    asked.answered_by, asked.request_id = by, request_id
    said = user_input(_words(answer, given))
    user_message(change, rows.turn, said, "respond", request_id, interaction_id=asked.id)
    if answer is not None:
        asking.decide(change, rows, asked, call, answer)
    else:
        _result(change, rows, asked, call, given)
    awaiting.reckon(rows)
    awaiting.waits_on(change, rows.turn, rows.calls)
    return word(asked)


def _read(asked: Interaction, given: JsonValue) -> Decision | None:
    call = asked.call
    if asked.kind == InteractionKind.APPROVAL:
        return decision(given)
    answer = checked_json("answer", given)
    schema = call.binding.get("answerSchema") if isinstance(call.binding, dict) else None
    if schema is not None:
        schemas.check(answer, schema)
    return None


def _open_call(change: Change, rows: Awaiting, asked: Interaction) -> ToolCall:
    """The call that may still be answered for; raises Closed or Conflict."""
    if asked.status in _DECIDED:
        who = f" by {asked.rule_id}" if asked.rule_id else ""
        msg = f"{asked.id} was decided already: {word(asked)}{who}; {_DONE}"
        raise Conflict(msg)
    expires = asked.expires_at
    if asked.status != InteractionStatus.EXPIRED:
        permit(Operation.RESPOND, rows.turn)
    if asked.status == InteractionStatus.EXPIRED or (expires and expires <= change.now):
        msg = f"{asked.id} expired at {expires}; {_DONE}"
        raise Conflict(msg)
    if asked.status != InteractionStatus.OPEN:
        msg = f"{asked.id} is {asked.status} and takes no answer; {_DONE}"
        raise Conflict(msg)
    call = rows.call(asked.call_id)
    if call is None or call.state != CallState.INTENDED:
        msg = f"the call of {asked.id} has ended and needs no answer any more; {_DONE}"
        raise Conflict(msg)
    if asked.arguments_digest != tools.request_digest(call):
        msg = f"{asked.id} was opened for other arguments than its call has now; {_DONE}"
        raise Conflict(msg)
    return call


def word(asked: Interaction) -> str:
    """The recorded decision in one word; the content of a manual answer is not named."""
    answer = asked.answer if isinstance(asked.answer, dict) else {}
    return str(answer.get("decision", "answered"))


def _result(
    change: Change, rows: Awaiting, asked: Interaction, call: ToolCall, content: JsonValue
) -> None:
    """A person's result is the call's own."""
    asked.answer = {"content": content}
    asking.resolve(change, rows, asked, InteractionStatus.ANSWERED, {"decision": "answered"})
    draft = ResultDraft(execution_id=call.id, state=CallState.COMPLETED, content=content)
    tools.settle(change, rows.turn, call, draft)
    awaiting.consume(change, asked)


def _words(answer: Decision | None, given: JsonValue) -> str:
    if answer is None:
        return given if isinstance(given, str) and given else canonical(given).decode()
    return f"{answer.word}: {answer.reason}" if answer.reason else answer.word


def set_aside(change: Change, rows: Awaiting, asked: Interaction, by: str, reason: str) -> None:
    """Put an open interaction off: it stays open and can be answered; setting aside is audited.

    Raises Closed or Conflict as `respond` does.
    """
    _open_call(change, rows, asked)
    before = asked.set_aside_by
    asked.set_aside_at, asked.set_aside_by = change.now, by
    payload: dict[str, JsonValue] = {"interactionId": asked.id, "by": by, "reason": reason}
    change.emit(rows.session.id, EventType.INTERACTION_SET_ASIDE, payload, turn=rows.turn)
    change.add(
        AuditEntry(
            id=change.new_id("aud_"),
            session=rows.session,
            actor=by,
            action="interaction.set-aside",
            target=asked.id,
            reason=reason,
            before={"setAsideBy": before},
            after={"setAsideBy": by},
            at=change.now,
        )
    )


def signal(
    change: Change, rows: Awaiting, request_id: str, key: str, content: JsonValue
) -> tuple[str, str]:
    """Take a signal in; gives what came of it, and its id. Raises Closed or Conflict."""
    permit(Operation.SIGNAL, rows.turn)
    take_up(change, rows)  # a deadline that has passed came first
    taken, matched = signals.admit(change, rows, request_id, key, content)
    awaiting.reckon(rows)
    awaiting.waits_on(change, rows.turn, rows.calls)
    return ("matched" if matched else "kept"), taken.id


def take_up(change: Change, rows: Awaiting) -> None:
    """Do what became due while nobody owned the Turn: deadlines, and calls to be sent (R050)."""
    asking.expire(change, rows)
    signals.expire(change, rows)
    for call in awaiting.to_send(rows.turn, rows.calls):
        asking.begin(change, rows, call)
    awaiting.reckon(rows)
    awaiting.waits_on(change, rows.turn, rows.calls)
