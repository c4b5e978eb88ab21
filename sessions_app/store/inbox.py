"""The inbox: each update of an external call is one transaction with all that follows from it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings

from hands_app.contract.ids import new_id
from hands_app.contract.messages import OUTCOMES, Update, UpdateKind
from sessions_app.contract.errors import NotFound
from sessions_app.contract.status import SETTLED_CALLS
from sessions_app.machine import intake
from sessions_app.machine.intake import Received
from sessions_app.models import AuditEntry, ToolCall
from sessions_app.store import observing, output, rows
from sessions_app.store.result_bodies import LOST_AFTER, Foreign, Unread, with_body, without_body
from sessions_app.store.transaction import run
from sessions_app.tooling.boxes import Receipt

if TYPE_CHECKING:
    from sessions_app.store.unit import Unit

_IDENTITY = (
    "session_id",
    "route",
    "request_digest",
    "state",
    "inbox_position",
    "dispatched_at",
    "deliver_at",
)
_MAY_END = frozenset({UpdateKind.RESULT, UpdateKind.UNKNOWN_EXECUTION})
_TAKEN_IN = frozenset({"applied", "late"})
REFUSED = "update.refused"
FOREIGN = "none: it names an object of another session"
"""Stands for the digest of a request that nobody made."""


class StoreInbox:
    """Implements `tooling.boxes.Inbox`."""

    def take(self, update: Update) -> Receipt:
        """See the protocol. A repeat is seen without a lock, since it stays one."""
        known = ToolCall.objects.filter(pk=update.execution_id).only(*_IDENTITY).first()
        if known is None:
            return Receipt("foreign")
        owned = intake.owns(known, update)
        if owned and update.kind is UpdateKind.PAGE:
            return Receipt(output.answer(known, update.page()), known.inbox_position)
        if owned and intake.is_repeat(known, update):
            return Receipt("duplicate", known.inbox_position)
        session_pk = known.session_id
        read = _read(known, update)

        def body(unit: Unit) -> Receipt:
            unit.lock_session(session_pk)
            loaded = received(unit, update.execution_id, whole_turn=update.kind in _MAY_END)
            call = loaded.call
            whole = read if isinstance(read, Update) else _in_spite(unit, call, update, read)
            if whole is None:
                return Receipt("unread", call.inbox_position)
            before = call.state
            taken = intake.take(unit.change, loaded, whole)
            if taken == "refused":
                _audit(unit, call, update)
            elif taken in _TAKEN_IN:
                observing.note(unit, call, whole, before=before, late=taken == "late")
            return Receipt(taken, call.inbox_position)

        try:
            return run("hands.intake", body)
        except NotFound:  # its Session was purged meanwhile
            return Receipt("foreign")


def _read(known: ToolCall, update: Update) -> Update | Unread:
    """The update with its body found, before any lock; only that of the next outcome is needed."""
    is_next = update.sequence == known.inbox_position + 1
    if update.kind not in OUTCOMES or not is_next or not intake.owns(known, update):
        return update
    try:
        return with_body(update, known.session_id)
    except Foreign:
        return update.model_copy(update={"request_digest": FOREIGN})
    except Unread as error:
        return error


def _in_spite(unit: Unit, call: ToolCall, update: Update, unread: Unread) -> Update | None:
    """Note that a body is missing; what stays lost is done without at last (C74)."""
    if call.state in SETTLED_CALLS:
        return without_body(update, unread.code)
    call.unread_code, call.unread_at = unread.code, call.unread_at or unit.now
    if unit.now - call.unread_at < LOST_AFTER:
        return None
    return without_body(update, unread.code)


def received(unit: Unit, execution_id: str, *, whole_turn: bool = True) -> Received:
    """Load a call with its Thread and Turn, after the Session's lock; on request all open calls."""
    call = unit.watch(ToolCall.objects.select_related("thread", "turn").get(pk=execution_id))
    thread, turn = unit.watch(call.thread), unit.watch(call.turn)
    calls = rows.unapplied_calls(unit, turn) if whole_turn else []
    return Received(thread, turn, call, calls, asks_again_after())


def asks_again_after() -> timedelta:
    """Return how long an unconfirmed command, or admitted work, is left alone at least (R182)."""
    return timedelta(seconds=settings.DURABLE["HANDS_RETRY_SECONDS"])


def _audit(unit: Unit, call: ToolCall, update: Update) -> None:
    """Note who tried to answer for another pool or request, once for each execution (T23)."""
    seen = AuditEntry.objects.filter(target=call.pk, action=REFUSED)
    if seen.exists():
        return
    unit.change.add(
        AuditEntry(
            id=new_id("aud_"),
            session_id=call.session_id,
            actor=f"route {update.route}",
            action=REFUSED,
            target=call.pk,
            reason=f"update {update.event_id}: another pool, or another request",
            before={"route": call.route, "requestDigest": call.request_digest},
            after={"route": update.route, "requestDigest": update.request_digest},
            at=unit.now,
        )
    )
