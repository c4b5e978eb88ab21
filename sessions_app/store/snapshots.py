"""Snapshots: everything public in one scope, read as of one moment with its cursor (R087, S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Coalesce

from sessions_app.contract.events import EVERYTHING, EventFilter
from sessions_app.contract.paging import Cursor
from sessions_app.contract.snapshot import Snapshot
from sessions_app.models import Message, Session, StoreState, Thread, ToolCall, Turn
from sessions_app.store import looking, reads, timeline, views

if TYPE_CHECKING:
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.views import MessageView, ThreadView, ToolView, TurnView


@looking.look
def snapshot(key: SessionKey, within: EventFilter = EVERYTHING) -> Snapshot:
    """The public state of one scope. Raises NotFound for what is not of this Session.

    The events behind its cursor carry it on; it is the answer to CursorExpired (R095).
    """
    with looking.snapshot():
        session = reads.session_row(key)
        timeline.check_ownership(key, within)
        return read(session, within)


def read(session: Session, within: EventFilter) -> Snapshot:
    """The same inside a database snapshot that is open already."""
    incarnation = StoreState.objects.get().incarnation
    return Snapshot(
        key=session.key,
        within=within,
        cursor=Cursor(session.id, session.last_sequence, incarnation).encode(),
        last_sequence=session.last_sequence,
        pruned_through=session.pruned_through,
        session=views.session_view(session) if within == EVERYTHING else None,
        threads=_threads(session, within),
        turns=_turns(session, within),
        messages=_messages(session, within),
        tools=_tools(session, within),
    )


def _threads(session: Session, within: EventFilter) -> dict[str, ThreadView]:
    """Resource views: of one Thread in its scope, none in a Turn's or a Run's (R092)."""
    if within.turn_id is not None:
        return {}
    named = Q() if within.thread_id is None else Q(thread_id=within.thread_id)
    rows = Thread.objects.filter(named, session=session)
    return {row.thread_id: views.thread_view(row, session.key) for row in rows}


def _turns(session: Session, within: EventFilter) -> dict[str, TurnView]:
    """Turns as they stand; a Run's scope keeps its Turn's (R091)."""
    rows = Turn.objects.filter(_within(session, within, turn="pk"))
    return {row.id: views.turn_view(row) for row in rows.select_related("thread__session")}


def _messages(session: Session, within: EventFilter) -> dict[str, MessageView]:
    rows = Message.objects.filter(_within(session, within))
    if within.run_id is not None:
        rows = rows.filter(run_id=within.run_id)
    found = rows.select_related("thread").order_by("sequence")
    return {row.id: views.message_view(row, row.thread.key_in(session.key)) for row in found}


def _tools(session: Session, within: EventFilter) -> dict[str, ToolView]:
    rows = ToolCall.objects.filter(_within(session, within))
    if within.run_id is not None:
        rows = rows.alias(run=Coalesce("applied_run", "origin_run")).filter(run=within.run_id)
    found = rows.select_related("thread").order_by("intended_at", "round", "ordinal")
    calls = (views.tool_view(row, row.thread.key_in(session.key)) for row in found)
    return {call.place: call for call in calls}


def _within(session: Session, within: EventFilter, turn: str = "turn") -> Q:
    """Rows of the scope's Thread or Turn."""
    condition = Q(session=session)
    if within.thread_id is not None:
        condition &= Q(thread__thread_id=within.thread_id)
    if within.turn_id is not None:
        condition &= Q(**{turn: within.turn_id})
    return condition
