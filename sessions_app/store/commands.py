"""Controls: the frame that every request about a Turn is admitted in, once for its request id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import NotFound
from sessions_app.contract.views import Receipt
from sessions_app.machine import receipts
from sessions_app.models import AuditEntry, Command, Turn
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.machine.receipts import Admitted, Control
    from sessions_app.models import Session
    from sessions_app.store.unit import Unit


def admit(asked: Control, decide: Callable[[Unit, Turn], Admitted]) -> Receipt:
    """Decide on a Turn under its Session's lock, or give the receipt of the same request (R046).

    Raises NotFound, Conflict for a request id that was used with other content, Unavailable, and
    whatever `decide` refuses with; nothing is written then and the request id stays free.
    """

    def body(unit: Unit) -> Receipt:
        session = unit.lock_session(asked.key.session)
        command = Command.objects.filter(session=session, request_id=asked.request_id).first()
        if command is not None:
            return receipts.known(command, asked.operation, asked.digest)
        turn = _turn(unit, session, asked)
        first = session.last_sequence + unit.change.events_of(session.id) + 1
        before = _stand(turn)
        answer = decide(unit, turn)
        if asked.actor is not None:
            _put_on_record(unit, turn, asked, asked.actor, before)
        receipt = Receipt(
            asked.request_id,
            asked.operation,
            turn.id,
            asked.key.thread_id,
            min(first, session.last_sequence + unit.change.events_of(session.id)),
            answer.outcome,
            answer.subject,
        )
        return receipts.take(unit.change, session, turn, asked.digest, receipt)

    return run("turn.control", body)


def _stand(turn: Turn) -> dict[str, JsonValue]:
    return {"status": str(turn.status), "revision": turn.revision}


def _put_on_record(
    unit: Unit, turn: Turn, asked: Control, actor: str, before: dict[str, JsonValue]
) -> None:
    """Who did what, in the same commit."""
    unit.change.add(
        AuditEntry(
            id=unit.change.new_id("aud_"),
            session=turn.session,
            actor=actor,
            action=f"turn.{asked.operation}",
            target=turn.id,
            before=before,
            after={**_stand(turn), "requestId": asked.request_id},
            at=unit.now,
        )
    )


def _turn(unit: Unit, session: Session, asked: Control) -> Turn:
    """The Turn with its Thread, both watched; its `wake_at` follows from what is decided (S2)."""
    found = Turn.objects.select_related("thread").filter(
        pk=asked.turn_id, session=session, thread__thread_id=asked.key.thread_id
    )
    turn = found.first()
    if turn is None:
        msg = f"turn {asked.turn_id} was not found in {asked.key}"
        raise NotFound(msg)
    turn.session = session
    unit.change.touch(unit.watch(turn.thread))
    return unit.watch(turn)
