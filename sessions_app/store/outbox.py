"""The outbox: external calls that are due to be sent or asked about (S8, S9, S20).

Taking is a commit of its own before anything leaves: of several dispatchers one sends, a call that
has ended meanwhile sends nothing, and the row holds the newest `not_after` that Hands may know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db import connection

from sessions_app.contract.errors import Busy
from sessions_app.machine import intake
from sessions_app.machine.tools import origin
from sessions_app.models import Session, ToolCall
from sessions_app.store import clock
from sessions_app.store.inbox import asks_again_after, received
from sessions_app.store.transaction import run
from sessions_app.tooling.boxes import Delivery

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sessions_app.store.unit import Unit

LOOKS: Final = 3
Due = tuple[str, str]
"""Ids of a call and of its Session."""


class StoreOutbox:
    """Implements `tooling.boxes.Outbox`."""

    def take(self, limit: int) -> list[Delivery]:
        """See the protocol. Sessions that somebody holds are passed over and looked behind."""
        taken: list[Delivery] = []
        passed: set[str] = set()
        for _ in range(LOOKS):
            found = due(clock.now(), limit - len(taken), passed)
            if not found:
                break
            taken += _take(found)
            passed |= {session_pk for _, session_pk in found}
        return taken

    def cannot_send(self, execution_id: str, code: str, text: str) -> bool:
        """See the protocol."""

        def body(unit: Unit) -> bool:
            unit.lock_session(ToolCall.objects.only("session_id").get(pk=execution_id).session_id)
            return intake.cannot_send(unit.change, received(unit, execution_id), code, text)

        return run("hands.delivery", body)


def due(now: datetime, limit: int, passed: Collection[str] = ()) -> list[Due]:
    """Calls to send or ask about, the oldest first; found without locks, by `call_outbox`."""
    found = ToolCall.objects.filter(deliver_at__lte=now).exclude(session__in=passed)
    return list(found.order_by("deliver_at").values_list("pk", "session_id")[:limit])


def _take(found: list[Due]) -> list[Delivery]:
    names = [name for name, _ in found]

    def body(unit: Unit) -> list[Delivery]:
        _forget_in_a_crash()
        sessions = _lock(unit, {session_pk for _, session_pk in found})
        calls = ToolCall.objects.filter(
            pk__in=names, session__in=sessions, deliver_at__lte=unit.now
        ).select_related("thread", "session")
        return [_delivery(unit, call) for call in calls.order_by("deliver_at", "pk")]

    try:
        return run("hands.delivery", body)
    except Busy:
        return []


def _lock(unit: Unit, wanted: set[str]) -> list[Session]:
    """Many: whatever is free. One: waited for a little, its owner may just be committing (S13)."""
    if len(wanted) > 1:
        return unit.lock_free_sessions(wanted)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '100ms'")
    return [unit.lock_session(wanted.pop())]


def _forget_in_a_crash() -> None:
    """What a crash of the database forgets is only sent again: nobody waits for the disk."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")


def _delivery(unit: Unit, call: ToolCall) -> Delivery:
    unit.watch(call)
    return Delivery(
        sent=intake.deliver(call, unit.now, asks_again_after()),
        execution_id=call.pk,
        route=call.route,
        request_digest=call.request_digest,
        position=call.inbox_position,
        binding=call.binding,
        arguments=call.arguments,
        origin=origin(call),
        scope=call.session_id,
        not_after=call.not_after,
    )
