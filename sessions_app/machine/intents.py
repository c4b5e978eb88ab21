"""Intents: what a model asked for, stored with the checkpoint before anything happens (law 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.ids import execution_id
from sessions_app.contract.events import EventType
from sessions_app.machine import asking, tools
from sessions_app.machine.awaiting import IN_PROCESS
from sessions_app.models import ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import IntentDraft
    from sessions_app.machine.change import Change
    from sessions_app.machine.settling import Invocation


def intend(change: Change, rows: Invocation, drafts: Sequence[IntentDraft]) -> None:
    """Store intents with the checkpoint.

    An external one counts as possibly sent from now on (S9), unless a person has to allow it first.
    Once a cancel is recorded there are no intents any more, and no effect begins (I13).
    """
    if rows.turn.cancel_request is not None:
        return
    for draft in drafts:
        call = _call(change, rows, draft)
        change.add(call)
        rows.calls.append(call)
        payload: dict[str, JsonValue] = {
            **tools.names(call),
            "arguments": draft.arguments,
            "route": draft.route,
        }
        change.emit(
            rows.session.id, EventType.TOOL_REQUESTED, payload, turn=rows.turn, run=rows.run.id
        )
        if draft.needs_approval:
            asking.approval(change, rows, call)
        else:
            _allow(change, rows, call, starts=draft.start)


def _allow(change: Change, rows: Invocation, call: ToolCall, *, starts: bool) -> None:
    """Nobody has to allow it: it starts here, or goes its way."""
    call.allowed_at = change.now
    if starts and call.route in IN_PROCESS:
        tools.start_one(change, rows, call)
    else:
        asking.begin(change, rows, call)


def _call(change: Change, rows: Invocation, draft: IntentDraft) -> ToolCall:
    rounds = rows.turn.rounds
    call = ToolCall(
        id=execution_id(rows.turn.id, f"{rounds}/{draft.call_id}", draft.ordinal),
        session=rows.session,
        thread=rows.thread,
        turn=rows.turn,
        call_id=draft.call_id,
        ordinal=draft.ordinal,
        round=rounds,
        name=draft.name,
        arguments=draft.arguments,
        binding=draft.binding,
        route=draft.route,
        effect=draft.effect,
        origin_run=rows.run.id,
        origin_step=rows.step.id if rows.step else None,
        intended_at=change.now,
    )
    call.request_digest = tools.request_digest(call)
    return call
