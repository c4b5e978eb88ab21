"""Who is who: four levels, keys that say where they belong, and operations on each level."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.errors import NotFound
from sessions_app.contract.identity import SessionKey
from sessions_app.models import Thread
from sessions_app.runtime import DurableRuntime, SessionHandle, ThreadHandle, TurnHandle
from tests.covers import covers
from tests.stores import AGENT

if TYPE_CHECKING:
    from tests.stores import Store

HANDLES: Final = (DurableRuntime, SessionHandle, ThreadHandle, TurnHandle)


@covers("R004")
def test_four_levels_lead_from_one_to_the_next(session: SessionHandle, store: Store) -> None:
    """A Session has Threads, a Thread Turns, a Turn Runs, a Run Steps: each is found by its own."""
    submitted = session.submit("r1", "hello")
    store.finish(store.claim())

    (thread,) = session.list_threads().items
    (turn,) = session.get_thread(thread.key.thread_id).list_turns().items
    (run,) = submitted.list_runs().items
    (step,) = submitted.list_steps(run.run_id).items

    assert (turn.turn_id, turn.key) == (submitted.turn_id, thread.key)
    assert (run.turn_id, step.run_id) == (turn.turn_id, run.run_id)


@covers("R006")
def test_a_retry_or_a_reconnect_needs_no_thread_of_its_own(
    runtime: DurableRuntime, session: SessionHandle
) -> None:
    """Every Session has `main`, and all that goes to the Session goes there."""
    first = session.submit("r1", "hello")

    again = runtime.create_session("acme", "s1", agent=AGENT.name).submit("r1", "hello")

    assert again == first
    assert first.key.thread_id == "main"
    assert [view.key.thread_id for view in session.list_threads().items] == ["main"]


@covers("R007")
def test_the_same_names_elsewhere_are_somebody_else(
    runtime: DurableRuntime, session: SessionHandle
) -> None:
    """A Session is namespace and id together; a Thread's key has its Session's in it."""
    foreign = runtime.create_session("other", "s1", agent=AGENT.name)

    theirs, ours = foreign.submit("r1", "theirs"), session.submit("r1", "ours")

    assert theirs.turn_id != ours.turn_id
    assert theirs.key == SessionKey("other", "s1").thread("main")
    assert Thread.objects.filter(thread_id="main").count() == 2


@covers("R007")
def test_a_turn_belongs_to_one_thread(session: SessionHandle) -> None:
    """Another Thread of the same Session does not know it."""
    aside = session.create_thread("aside", AGENT.name)
    turn = session.submit("r1", "hello")

    with pytest.raises(NotFound):
        aside.get_turn(turn.turn_id)

    assert session.main.get_turn(turn.turn_id) == turn


@covers("R014")
def test_a_runtime_makes_finds_and_lists_sessions(runtime: DurableRuntime) -> None:
    """Of one namespace, page by page; and says what it can do."""
    made = [runtime.create_session("acme", f"s{n}", agent=AGENT.name) for n in range(3)]
    runtime.create_session("other", "s9", agent=AGENT.name)

    first = runtime.list_sessions("acme", limit=2)
    rest = runtime.list_sessions("acme", first.next_cursor, limit=2)

    assert [view.key for view in (*first.items, *rest.items)] == [one.key for one in made]
    assert runtime.get_session("acme", "s1") == made[1]
    assert AGENT in runtime.capabilities().definitions


@covers("R015")
def test_a_session_speaks_for_its_main_thread(session: SessionHandle, store: Store) -> None:
    """Submit, history and Turns of main; Threads to make, find and list; one close for all."""
    aside = session.create_thread("aside", AGENT.name)
    main, other = session.submit("r1", "to main"), aside.submit("r2", "to aside")
    for _ in range(2):
        store.finish(store.claim())

    assert (session.main.key, session.get_thread("aside")) == (main.key, aside)
    assert [said.turn_id for said in session.history().items] == [main.turn_id]
    assert {view.turn_id for view in session.list_turns().items} == {main.turn_id, other.turn_id}
    assert session.get_turn(other.turn_id) == other
    assert [view.key.thread_id for view in session.list_threads().items] == ["main", "aside"]
    session.close()
    assert {view.status for view in session.list_threads().items} == {"CLOSED"}


@covers("R016")
def test_a_thread_has_operations_of_its_own(session: SessionHandle, store: Store) -> None:
    """Submit, Turns, history, view and close concern this Thread alone."""
    aside = session.create_thread("aside", AGENT.name)
    turn = aside.submit("r1", "to aside")
    store.finish(store.claim())

    assert [view.turn_id for view in aside.list_turns().items] == [turn.turn_id]
    assert [said.turn_id for said in aside.history().items] == [turn.turn_id]
    aside.close()
    assert (aside.view().status, session.main.view().status) == ("CLOSED", "OPEN")


@covers("R018")
def test_events_are_listed_on_three_levels(session: SessionHandle) -> None:
    """Session, Thread and Turn each list their own; a filter keeps the Session's sequences."""
    aside = session.create_thread("aside", AGENT.name)
    turn = aside.submit("r1", "hello")

    whole, of_thread, of_turn = session.list_events(), aside.list_events(), turn.list_events()

    assert [event.sequence for event in whole.items] == [1, 2, 3, 4, 5]
    assert [event.sequence for event in of_thread.items] == [3, 4, 5]
    assert [event.sequence for event in of_turn.items] == [4, 5]


@covers("R028")
def test_nothing_submits_and_watches_in_one() -> None:
    """Whoever wants previews opens the stream first: no operation takes work and an observer."""
    names = [f"{kind.__name__}.{name}" for kind in HANDLES for name in vars(kind) if name[0] != "_"]
    submitting = [
        (kind, name)
        for kind in HANDLES
        for name in vars(kind)
        if name.lstrip("a") in {"submit", "call"}
    ]

    parameters = {
        parameter
        for kind, name in submitting
        for parameter in inspect.signature(getattr(kind, name)).parameters
    }

    assert len(submitting) == 8
    assert parameters <= {"self", "request_id", "content", "policy", "timeout"}
    assert [name for name in names if "watch" in name or "submit_and" in name] == []
