"""Interactions: answered once, under the Session's lock; and what becomes due by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import NotFound
from sessions_app.machine import answering, awaiting, waking
from sessions_app.machine.control_table import Operation
from sessions_app.machine.receipts import Admitted, Control
from sessions_app.models import Interaction, Turn
from sessions_app.store import commands, rows

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.views import Receipt
    from sessions_app.machine.awaiting import Awaiting
    from sessions_app.models import Thread
    from sessions_app.store.unit import Unit


def respond(
    key: ThreadKey,
    turn_id: str,
    request_id: str,
    interaction_id: str,
    response: JsonValue,
    actor: str | None = None,
) -> Receipt:
    """Answer an interaction of this Turn (R144): the receipt names the decision and the message.

    Raises NotFound, Invalid for an answer of the wrong type, Closed for a Turn that has ended, and
    Conflict for an interaction that was decided or has expired; nothing is written then.
    """
    content: JsonValue = {"interaction": interaction_id, "response": response}
    asked = Control(Operation.RESPOND, key, turn_id, request_id, content, actor)

    def decide(unit: Unit, turn: Turn) -> Admitted:
        loaded, found = _asked(unit, turn, interaction_id)
        word = answering.respond(unit.change, loaded, found, response, actor, request_id)
        return Admitted(word, interaction_id)

    return commands.admit(asked, decide)


def set_aside(
    key: ThreadKey, turn_id: str, request_id: str, interaction_id: str, by: str, reason: str = ""
) -> Receipt:
    """Put an open interaction off; it stays open, is listed apart and can still be answered."""
    content: JsonValue = {"interaction": interaction_id, "by": by, "reason": reason}
    asked = Control("set-aside", key, turn_id, request_id, content)

    def decide(unit: Unit, turn: Turn) -> Admitted:
        loaded, found = _asked(unit, turn, interaction_id)
        answering.set_aside(unit.change, loaded, found, by, reason)
        return Admitted("set-aside", interaction_id)

    return commands.admit(asked, decide)


def signal(
    key: ThreadKey,
    turn_id: str,
    request_id: str,
    name: str,
    content: JsonValue = None,
    actor: str | None = None,
) -> Receipt:
    """Send an `x.*` signal to a Turn (R147): it ends the oldest wait for it, or is kept for one."""
    said: JsonValue = {"key": name, "content": content}
    asked = Control(Operation.SIGNAL, key, turn_id, request_id, said, actor)

    def decide(unit: Unit, turn: Turn) -> Admitted:
        loaded = rows.awaiting(unit, turn)
        outcome, subject = answering.signal(unit.change, loaded, request_id, name, content)
        return Admitted(outcome, subject)

    return commands.admit(asked, decide)


def _asked(unit: Unit, turn: Turn, interaction_id: str) -> tuple[Awaiting, Interaction]:
    found = Interaction.objects.select_related("call").filter(pk=interaction_id, turn=turn).first()
    if found is None:
        msg = f"interaction {interaction_id} was not found in turn {turn.id}; list what is pending"
        raise NotFound(msg)
    asked = unit.watch(found)
    return rows.awaiting(unit, turn), asked


def still_waits(unit: Unit, thread: Thread, head: Turn) -> bool:
    """Do what became due in a Thread that nobody owns; True when its head waits on.

    Deadlines pass and calls that were allowed in a pause leave here, without a Run (S2).
    """
    if thread.lease_token is not None or not awaiting.may_be_due(head, unit.now):
        return False
    calls = rows.unapplied_calls(unit, head)
    if not awaiting.is_due(head, calls, unit.now):
        return False
    unit.change.touch(thread)
    loaded = rows.awaiting(unit, head)
    answering.take_up(unit.change, loaded)
    inputs = any(awaiting.wakes(signal) for signal in loaded.signals)
    when = waking.wake_at(thread, head, loaded.calls, open_inputs=inputs, now=unit.now)
    return when is None or when > unit.now
