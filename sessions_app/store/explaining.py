"""Loading what an explanation rests on: a bounded number of statements in one snapshot."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings

from sessions_app.contract.errors import NotFound
from sessions_app.contract.paging import Cursor
from sessions_app.contract.status import InteractionStatus, WaitStatus
from sessions_app.machine.explain import Facts, cursors, explain
from sessions_app.machine.explain.cursors import Timeline
from sessions_app.models import Host, Interaction, Run, Session, StoreState, ToolCall, Turn, Wait
from sessions_app.store import clock, fleet, observing
from sessions_app.store.looking import look, snapshot

if TYPE_CHECKING:
    from sessions_app.contract.explanation import CursorExplanation, Explanation
    from sessions_app.contract.identity import SessionKey

SHOWN: Final = 20
"""Places of the queue that an explanation lists."""


@look
def why(turn_id: str) -> Explanation:
    """Why this Turn is not running; raises NotFound."""
    with snapshot():
        facts = _facts(turn_id)
    return explain(facts)


def _facts(turn_id: str) -> Facts:
    turn = Turn.objects.select_related("thread").filter(pk=turn_id).first()
    if turn is None:
        msg = f"turn {turn_id} was not found"
        raise NotFound(msg)
    queue = Turn.objects.filter(thread=turn.thread, finished_at=None).order_by("ordinal")
    state = StoreState.objects.get()
    hosts = Host.objects.filter(stopped_at=None, lost_at=None).order_by("id")
    asked = Interaction.objects.filter(turn=turn, status=InteractionStatus.OPEN)
    return Facts(
        now=clock.now(),
        turn=turn,
        thread=turn.thread,
        queue=list(queue[:SHOWN]),
        ahead=queue.filter(ordinal__lt=turn.ordinal).count(),
        calls=list(
            ToolCall.objects.filter(turn=turn, applied_at=None).order_by("round", "ordinal")
        ),
        interactions=list(asked.order_by("id")),
        waits=list(Wait.objects.filter(turn=turn, status=WaitStatus.OPEN).order_by("id")),
        last_run=Run.objects.filter(turn=turn).order_by("-ordinal").first(),
        hosts=list(hosts),
        leases=fleet.owned(),
        slots=settings.DURABLE["BRAIN_SLOTS"],
        lease=timedelta(seconds=settings.DURABLE["LEASE_SECONDS"]),
        scanned_at=state.scanned_at,
        grace_until=state.grace_until,
        contradicted=[entry.target for entry in observing.contradicted(turn_id)],
    )


@look
def cursor(key: SessionKey, text: str) -> CursorExplanation:
    """Whether an observer of the Session can go on from this cursor (R269).

    Raises Invalid for one that is not of this Session, NotFound for no such Session.
    """
    where = Cursor.decode(text)
    with snapshot():
        found = Session.objects.filter(namespace=key.namespace, session_id=key.session_id).first()
        incarnation = StoreState.objects.get().incarnation
    if found is None:
        msg = f"session {key} was not found"
        raise NotFound(msg)
    return cursors.explain(where, Timeline(found, incarnation))
