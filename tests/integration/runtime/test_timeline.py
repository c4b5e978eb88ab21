"""Event pages: gapless, examined by count, and expired rather than silently incomplete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from sessions_app.contract.errors import CursorExpired, Invalid, NotFound
from sessions_app.contract.events import EventFilter
from sessions_app.contract.paging import Cursor
from sessions_app.machine.retention import Keep
from sessions_app.models import Session as SessionRow
from sessions_app.models import StoreState
from sessions_app.store import retention
from sessions_app.store.timeline import events
from tests.covers import covers, poses
from tests.stores import AGENT, in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.runtime import SessionHandle
    from tests.stores import Store


def test_pages_of_events_have_no_gap(session: SessionHandle) -> None:
    """I18: page after page gives every sequence once, in order, up to the newest."""
    for number in range(5):
        session.submit(f"r{number}", "hello")

    seen, cursor = [], None
    while True:
        page = session.list_events(cursor, limit=5)
        seen += [event.sequence for event in page.items]
        cursor = page.next_cursor
        if page.through == page.last_sequence:
            break

    assert seen == list(range(1, session.view().last_sequence + 1))


def test_reader_at_the_end_keeps_its_place(session: SessionHandle) -> None:
    """A page beyond the newest event is empty, and its cursor finds what comes later."""
    at_end = session.list_events().next_cursor
    nothing = session.list_events(at_end)
    session.submit("r1", "hello")

    page = session.list_events(nothing.next_cursor)

    assert nothing.items == ()
    assert nothing.through == nothing.last_sequence
    assert [event.type for event in page.items] == ["turn.admitted", "message.completed"]


def test_each_event_has_a_cursor_of_its_own(session: SessionHandle) -> None:
    """A reader that stops in the middle of a page goes on behind the last event it took in."""
    session.submit("r1", "hello")
    first, *rest = session.list_events().items

    assert session.list_events(first.cursor).items == tuple(rest)


@covers("R093", "R094")
def test_limit_counts_events_examined(session: SessionHandle) -> None:
    """R093, R094: a filtered page may be empty and still advance; sequences stay the Session's."""
    aside = session.create_thread("aside", AGENT.name)
    for number in range(3):
        session.submit(f"r{number}", "hello")
    turn = aside.submit("r9", "hello")

    empty = turn.list_events(limit=4)
    full = turn.list_events(empty.next_cursor, limit=100)

    assert empty.items == ()
    assert empty.through == 4
    assert [event.sequence for event in full.items] == [10, 11]
    assert full.through == full.last_sequence == 11


def test_filtered_cursor_is_a_place_in_the_session(session: SessionHandle) -> None:
    """4.1 row 17: a cursor of a filtered page works with any filter."""
    turn = session.submit("r1", "hello")
    cursor = turn.list_events(limit=3).next_cursor

    assert [event.sequence for event in session.list_events(cursor).items] == [4]
    assert [event.sequence for event in session.main.list_events(cursor).items] == [4]


@covers("R089", "R090")
def test_filters_show_only_their_own(session: SessionHandle, store: Store) -> None:
    """R089, R090: by Thread, by Turn and by Run; a Run's has what befell its Turn as a whole."""
    aside = session.create_thread("aside", AGENT.name)
    first, second = session.submit("r1", "hello"), session.submit("r2", "hello")
    aside.submit("r3", "hello")
    store.finish(store.claim(first=store.rings.threads[0]))
    (run,) = first.list_runs().items

    of_run = events(session.key, within=EventFilter("main", first.turn_id, run.run_id))

    assert {event.turn_id for event in second.list_events().items} == {second.turn_id}
    assert {event.thread_id for event in aside.list_events().items} == {"aside"}
    assert {event.run_id for event in of_run.items} == {run.run_id, None}
    assert {event.turn_id for event in of_run.items} == {first.turn_id}


@covers("R089")
@pytest.mark.parametrize(
    ("names", "error"),
    [
        ((None, "turn", None), Invalid),
        (("main", None, "run"), Invalid),
        (("nowhere", None, None), NotFound),
        (("aside", "turn", None), NotFound),
        (("main", "turn_unknown", None), NotFound),
        (("main", "turn", "run_unknown"), NotFound),
    ],
)
def test_wrong_ownership_is_refused(
    session: SessionHandle, names: tuple[str | None, ...], error: type[Exception]
) -> None:
    """R089: a Turn needs its Thread, a Run its Turn, and each has to be of that whole."""
    session.create_thread("aside", AGENT.name)
    turn = session.submit("r1", "hello")
    thread_id, turn_id, run_id = (turn.turn_id if name == "turn" else name for name in names)

    with pytest.raises(error):
        events(session.key, within=EventFilter(thread_id, turn_id, run_id))


def _prune(through: int) -> None:
    """Have retention prune the one Session there is."""
    row = SessionRow.objects.get()
    retention.retain(row.key, Keep(events=row.last_sequence - through))
    retention.prune(row.key)


@covers("R095")
def test_pruned_events_expire_their_cursors(session: SessionHandle) -> None:
    """R095: what lies below the floor is said to be gone; a new reader begins at the floor."""
    session.submit("r1", "hello")
    first, second, *_ = session.list_events().items
    _prune(2)

    with pytest.raises(CursorExpired, match="events from 3 on exist"):
        session.list_events(first.cursor)
    assert [event.sequence for event in session.list_events(second.cursor).items] == [3, 4]
    assert [event.sequence for event in session.list_events().items] == [3, 4]


def test_everything_pruned_is_an_empty_page(session: SessionHandle) -> None:
    """A floor at the newest event leaves a reader at the end, not with an error."""
    _prune(2)

    page = session.list_events()

    assert (page.items, page.through, page.last_sequence) == ((), 2, 2)


@poses("S23")
def test_cursor_of_another_incarnation_expires(session: SessionHandle) -> None:
    """S23: after a restore the same sequence may be another event."""
    cursor = session.list_events().next_cursor
    StoreState.objects.update(incarnation="inc_restored")

    with pytest.raises(CursorExpired):
        session.list_events(cursor)


@poses("S23")
def test_cursor_ahead_of_the_newest_event_expires(session: SessionHandle) -> None:
    """S23: after a failover with a lost tail a reader would wait for what was already told anew."""
    cursor = Cursor.decode(session.list_events().next_cursor or "")
    ahead = Cursor(cursor.session_pk, cursor.sequence + 1, cursor.incarnation).encode()

    with pytest.raises(CursorExpired):
        session.list_events(ahead)


def test_cursor_of_another_session_is_refused(session: SessionHandle) -> None:
    """4.1 row 16: a cursor belongs to one Session."""
    other = session.runtime.create_session("acme", "s2", agent=AGENT.name)

    for cursor in (other.list_events().next_cursor, "", "nonsense", "WyJhIiwtMSwiYiJd"):
        with pytest.raises(Invalid, match="cursor"):
            session.list_events(cursor)


@poses("S19")
def test_page_is_of_one_moment(session: SessionHandle) -> None:
    """S19: pruned between any two statements of a read, a page is whole or says that it expired."""
    for number in range(4):
        session.submit(f"r{number}", "hello")
    cursor = session.list_events(limit=2).next_cursor
    asked = []

    def prune_after(
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,
        context: Any,
    ) -> Any:
        answer = execute(sql, params, many, context)
        asked.append(sql)
        in_thread(lambda: _prune(5)).result(20)
        return answer

    with connection.execute_wrapper(prune_after):
        page = session.list_events(cursor)

    assert asked
    assert [event.sequence for event in page.items] == list(range(3, page.last_sequence + 1))
    with pytest.raises(CursorExpired):
        session.list_events(cursor)
