"""Controls: what people and programs ask of one Turn, each admitted once for its request id.

Every function gives the receipt of the admission, the same for each repeat (R043, R046). It raises
NotFound, Closed (the Turn has ended), Conflict (its status, its revision, or a request id that was
used with other content) or Unavailable; nothing was written then and the request id stays free.
`actor` is who asked, for an operator's control: it is put on record and is no part of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from sessions_app.contract.errors import NotFound
from sessions_app.contract.status import SignalKind
from sessions_app.machine import controls, inputs
from sessions_app.machine.control_table import Operation
from sessions_app.machine.receipts import Admitted, Control
from sessions_app.models import JournalEntry, Signal
from sessions_app.store import rows
from sessions_app.store.commands import admit

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.content import UserInput
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.views import Receipt
    from sessions_app.models import Turn
    from sessions_app.store.unit import Unit


def steer(
    key: ThreadKey, turn_id: str, request_id: str, content: UserInput, actor: str | None = None
) -> Receipt:
    """Add direction at the next safe boundary; a reasoning step follows (R040)."""
    return _give(Operation.STEER, key, turn_id, request_id, content, actor)


def inject(
    key: ThreadKey, turn_id: str, request_id: str, content: UserInput, actor: str | None = None
) -> Receipt:
    """Add material, read at the next reasoning step; it causes none (R040)."""
    return _give(Operation.INJECT, key, turn_id, request_id, content, actor)


def withdraw(
    key: ThreadKey, turn_id: str, request_id: str, target: str, actor: str | None = None
) -> Receipt:
    """Take a steer or inject back before it was applied (R041).

    `target` is its signal id, or the request id that it was admitted under.
    """

    def decide(unit: Unit, turn: Turn) -> Admitted:
        return inputs.withdraw(unit.change, turn, unit.watch(_input(turn, target)))

    asked = Control(Operation.WITHDRAW, key, turn_id, request_id, {"input": target}, actor)
    return admit(asked, decide)


def pause(key: ThreadKey, turn_id: str, request_id: str, actor: str | None = None) -> Receipt:
    """Stop the Turn at its next safe boundary; the outcome says where it stands (R047)."""

    def decide(unit: Unit, turn: Turn) -> Admitted:
        return controls.pause(unit.change, turn, request_id)

    return admit(Control(Operation.PAUSE, key, turn_id, request_id, actor=actor), decide)


def resume(
    key: ThreadKey,
    turn_id: str,
    request_id: str,
    expected_revision: int,
    actor: str | None = None,
) -> Receipt:
    """Lift the pause that the caller saw at this revision (R048, R052)."""

    def decide(unit: Unit, turn: Turn) -> Admitted:
        calls = rows.unapplied_calls(unit, turn)
        return controls.resume(unit.change, turn, calls, expected_revision)

    content: JsonValue = {"expectedRevision": expected_revision}
    return admit(Control(Operation.RESUME, key, turn_id, request_id, content, actor), decide)


def cancel(key: ThreadKey, turn_id: str, request_id: str, actor: str | None = None) -> Receipt:
    """End the Turn; effects that were begun settle first (R044, R045)."""

    def decide(unit: Unit, turn: Turn) -> Admitted:
        return cancel_turn(unit, turn, request_id)

    return admit(Control(Operation.CANCEL, key, turn_id, request_id, actor=actor), decide)


def cancel_turn(unit: Unit, turn: Turn, request_id: str) -> Admitted:
    """Cancel a Turn whose Session is locked."""
    return controls.cancel(
        unit.change,
        rows.awaiting(unit, turn),
        request_id,
        left_traces=JournalEntry.objects.filter(turn=turn).exists(),
    )


def _give(
    operation: Operation,
    key: ThreadKey,
    turn_id: str,
    request_id: str,
    content: UserInput,
    actor: str | None,
) -> Receipt:
    def decide(unit: Unit, turn: Turn) -> Admitted:
        return inputs.give(unit.change, turn, operation, request_id, content)

    return admit(Control(operation, key, turn_id, request_id, content.wire(), actor), decide)


def _input(turn: Turn, target: str) -> Signal:
    """The steer or inject of that id, or of that request id."""
    given = Signal.objects.filter(turn=turn, kind__in=[SignalKind.STEER, SignalKind.INJECT])
    signal = given.filter(Q(pk=target) | Q(request_id=target)).first()
    if signal is None:
        msg = f"input {target} was not found in turn {turn.id}; name a steer or inject of it"
        raise NotFound(msg)
    return signal
