"""The timeline: pages of events with floor and newest sequence, from one snapshot (S19, S23)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from django.db import connection
from django.db.models import F, FilteredRelation, Q, Subquery, Value

from sessions_app.contract.errors import NotFound
from sessions_app.contract.events import EVERYTHING, EventFilter, EventView
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.paging import Cursor, EventPage, checked_limit
from sessions_app.models import Run, Session, StoreState, Thread, Turn
from sessions_app.store import sql
from sessions_app.store.looking import look

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMNS: Final = ("sequence", "type", "payload", "at", "thread_id", "turn_id", "run_id")


@look
def events(
    key: SessionKey,
    cursor: str | None = None,
    limit: int = 100,
    within: EventFilter = EVERYTHING,
) -> EventPage[EventView]:
    """The events behind `cursor`; without one, from the oldest that was not pruned.

    `limit` counts events examined, so a filtered page may be empty and still advance (R093). Since
    sequences are gapless (law 3), a page is a range of them, and one statement reads it together
    with floor, newest sequence and incarnation. Raises CursorExpired, Invalid, NotFound.
    """
    after = None if cursor is None else Cursor.decode(cursor)
    check_ownership(key, within)
    rows = _read(key, after, checked_limit(limit), within)
    if not rows:
        msg = f"session {key} was not found"
        raise NotFound(msg)
    session_pk, floor, newest, incarnation = rows[0][:4]
    if after is not None:
        after.check(session_pk, incarnation, newest, floor)
    begin = floor if after is None else after.sequence
    through = min(begin + limit, newest)

    def position(sequence: int) -> str:
        return Cursor(session_pk, sequence, incarnation).encode()

    shown = [row[4:] for row in rows if row[4] is not None]
    items = tuple(_view(facts, position(facts[0])) for facts in shown)
    return EventPage(items, position(through), through, newest)


def _read(
    key: SessionKey, after: Cursor | None, limit: int, within: EventFilter
) -> list[tuple[Any, ...]]:
    """The Session with the events of one range, or with nulls in their place when it holds none."""
    begin = F("pruned_through") if after is None else Value(after.sequence)
    in_range = Q(events__sequence__gt=begin, events__sequence__lte=begin + limit)
    shown = FilteredRelation("events", condition=in_range & _condition(within))
    rows = Session.objects.filter(namespace=key.namespace, session_id=key.session_id).annotate(
        incarnation=Subquery(StoreState.objects.values("incarnation")[:1]), shown=shown
    )
    columns = ("pk", "pruned_through", "last_sequence", "incarnation")
    found = rows.order_by("shown__sequence").values_list(
        *columns, *(f"shown__{name}" for name in _COLUMNS)
    )
    return list(found)


def _condition(within: EventFilter) -> Q:
    """What an event has to be like; `EventFilter.admits` says the same of one in memory."""
    named = (("thread_id", within.thread_id), ("turn_id", within.turn_id))
    condition = Q(**{f"events__{name}": value for name, value in named if value})
    if within.run_id:
        condition &= Q(events__run_id=within.run_id) | Q(events__run_id=None)
    return condition


def _view(facts: tuple[Any, ...], cursor: str) -> EventView:
    sequence, type_, payload, at, thread_id, turn_id, run_id = facts
    return EventView(sequence, type_, payload, at, cursor, thread_id, turn_id, run_id)


@look
def scope(
    key: SessionKey, thread_id: str | None, turn_id: str | None, run_id: str | None
) -> EventFilter:
    """A filter of what is named, with the Turn of a Run and the Thread of a Turn filled in.

    Raises NotFound for a Run or Turn that is not of this Session.
    """
    owner = {"session__namespace": key.namespace, "session__session_id": key.session_id}
    if run_id and not turn_id:
        runs = Run.objects.filter(pk=run_id, **owner)
        turn_id = _only(runs.values_list("turn_id", flat=True).first(), run_id, key)
    if turn_id and not thread_id:
        turns = Turn.objects.filter(pk=turn_id, **owner)
        thread_id = _only(turns.values_list("thread__thread_id", flat=True).first(), turn_id, key)
    return EventFilter(thread_id, turn_id, run_id)


def _only(found: str | None, name: str, key: SessionKey) -> str:
    if found is None:
        msg = f"{name} was not found in {key}"
        raise NotFound(msg)
    return found


def check_ownership(key: SessionKey, within: EventFilter) -> None:
    """What the filter names has to be of this Session: else NotFound, not an empty page."""
    if within.thread_id is None:
        return
    owner = {"session__namespace": key.namespace, "session__session_id": key.session_id}
    thread = {"thread__thread_id": within.thread_id}
    if within.run_id is not None:
        run = Run.objects.filter(pk=within.run_id, turn=within.turn_id, **thread, **owner)
        found = run.exists()
    elif within.turn_id is not None:
        found = Turn.objects.filter(pk=within.turn_id, **thread, **owner).exists()
    else:
        found = Thread.objects.filter(thread_id=within.thread_id, **owner).exists()
    if not found:
        msg = f"{within.run_id or within.turn_id or within.thread_id} was not found in {key}"
        raise NotFound(msg)


@look
def grown(seen: Mapping[SessionKey, int]) -> dict[SessionKey, int | None]:
    """The newest sequence of those of these Sessions that have more; None for one that is gone."""
    if connection.vendor == "sqlite":
        listed = [(key.namespace, key.session_id, last) for key, last in seen.items()]
        found = sql.rows("grown", followed=json.dumps(listed))
    else:
        columns = {
            "namespaces": [key.namespace for key in seen],
            "session_ids": [key.session_id for key in seen],
            "seen": list(seen.values()),
        }
        found = sql.rows("grown", **columns)
    return {SessionKey(namespace, name): newest for namespace, name, newest in found}
