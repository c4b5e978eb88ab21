"""Snapshots: what each scope shows, as of one moment, and never anything private."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction

from hands_app.contract.ids import new_id
from sessions_app.contract.backend import EntryDraft, Go, MessageDraft, Park, ResultDraft, text_part
from sessions_app.contract.errors import CursorExpired, NotFound
from sessions_app.contract.events import EventFilter
from sessions_app.contract.projection import EventProjection
from sessions_app.contract.status import CallState, EntryKind
from sessions_app.management.output import as_json
from sessions_app.models import Event, StoreState, Thread, ToolCall
from tests.covers import covers, poses
from tests.integration.runtime.world import everything
from tests.stores import AGENT, FRAME, host, in_thread, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Claim
    from sessions_app.runtime import SessionHandle, TurnHandle
    from tests.stores import Store

SECRET = "a thought that stays private"


@pytest.fixture
def turn(session: SessionHandle) -> TurnHandle:
    """Give a Turn; in another Thread there is one too."""
    turn = session.submit("r1", "hello")
    session.create_thread("aside", AGENT.name).submit("r2", "hello")
    return turn


@pytest.fixture
def claim(turn: TurnHandle, store: Store) -> Claim:
    """Give the claim of the Turn, which asked for a tool here and for one at Hands."""
    claim = store.claim(first=Thread.objects.get(thread_id="main").pk)
    _asks(store, claim)
    return claim


def _asks(store: Store, claim: Claim) -> None:
    """Store an answer with words, a private thought and two calls, one of them elsewhere."""
    calls = (tool_intent(), tool_intent(route="hands", start=False))
    intents = (calls[0], calls[1].model_copy(update={"ordinal": 1, "call_id": "call-2"}))
    thought = EntryDraft(kind=EntryKind.ITEMS, body={"reasoning": SECRET})
    said = MessageDraft(ordinal=1, parts=(text_part("I ask two tools"),))
    frame = FRAME.model_copy(update={"body": {"state": SECRET}})
    store.answered(claim)
    store.commit(claim, Go(), entries=(thought,), messages=(said,), intents=intents, frame=frame)


@covers("R087")
def test_a_snapshot_agrees_with_direct_queries(
    session: SessionHandle, turn: TurnHandle, claim: Claim
) -> None:
    """Session, Threads, Turns and messages are what each read gives by itself."""
    taken = session.snapshot()

    assert taken.session == session.view()
    assert taken.threads == {view.key.thread_id: view for view in session.list_threads().items}
    assert taken.turns == {view.turn_id: view for view in session.list_turns().items}
    main = [said for said in taken.history if said.key.thread_id == "main"]
    assert main == list(session.history().items)
    assert taken.cursor == session.list_events(limit=1000).next_cursor
    assert turn.turn_id in taken.turns


@covers("R092")
def test_each_scope_has_its_own_resources(
    session: SessionHandle, turn: TurnHandle, claim: Claim
) -> None:
    """A Thread's keeps one Thread; a Turn's and a Run's have none; only all of it a session."""
    (run,) = turn.list_runs().items

    whole, thread = session.snapshot(), session.main.snapshot()
    of_turn, of_run = turn.snapshot(), turn.snapshot(run.run_id)

    assert whole.session is not None
    assert set(whole.threads) == {"main", "aside"}
    assert [each.session for each in (thread, of_turn, of_run)] == [None, None, None]
    assert [set(each.threads) for each in (thread, of_turn, of_run)] == [{"main"}, set(), set()]
    lifecycle = {event.type for event in turn.list_events().items}
    assert not any(name.startswith(("session.", "thread.")) for name in lifecycle)


@covers("R091")
def test_a_turns_snapshot_shows_no_other_task(
    session: SessionHandle, turn: TurnHandle, claim: Claim
) -> None:
    """Turns, messages and tools of that Turn alone."""
    other = session.submit("r3", "later")

    taken = turn.snapshot()

    assert set(taken.turns) == {turn.turn_id}
    assert {said.turn_id for said in taken.history} == {turn.turn_id}
    assert {call.turn_id for call in taken.tools.values()} == {turn.turn_id}
    assert set(other.snapshot().turns) == {other.turn_id}
    assert other.snapshot().tools == {}


@covers("R091")
def test_a_runs_snapshot_has_what_belongs_to_it_at_present(
    session: SessionHandle, store: Store
) -> None:
    """The Turn as it stands and the Run's own records; a call goes to the Run that applies it."""
    turn = session.submit("r1", "hello")
    victim = store.join(host())
    store.answered(store.claim(victim), tool_intent("read"))
    (first,) = turn.list_runs().items
    asked = turn.snapshot(first.run_id)
    store.die(victim)
    claim = store.claim()
    call = store.call(turn.turn_id).pk
    store.commit(claim, Go(), starts=(call,))
    ended = ResultDraft(execution_id=call, state=CallState.COMPLETED, content=3)
    store.commit(claim, Go(), results=(ended,), applied=(call,), frame=FRAME)

    old, new = turn.snapshot(first.run_id), turn.snapshot(claim.run_id)

    assert [call.name for call in asked.tools.values()] == ["tool"]
    assert (old.tools, [call.result for call in new.tools.values()]) == ({}, [3])
    assert old.turns == new.turns == {turn.turn_id: turn.status()}
    assert old.messages == {}


@covers("R091", "R094")
def test_a_runs_projection_follows_its_turn(session: SessionHandle, store: Store) -> None:
    """What befalls the Turn as a whole reaches a reader of its Run: here a cancel."""
    turn = session.submit("r1", "hello")
    claim = store.claim()
    projection = EventProjection(turn.snapshot(claim.run_id))
    store.answered(claim, tool_intent(route="hands", start=False))
    store.commit(claim, Park())
    turn.cancel("c1")

    projection.accept_page(turn.list_events(projection.cursor, run_id=claim.run_id))

    assert projection.snapshot() == turn.snapshot(claim.run_id)
    assert projection.snapshot().turns[turn.turn_id].status == "CANCELLING"


@covers("R089")
@pytest.mark.parametrize(
    "within",
    [
        EventFilter("nowhere"),
        EventFilter("main", "turn_unknown"),
        EventFilter("aside", "turn"),
        EventFilter("main", "turn", "run_unknown"),
    ],
    ids=["thread", "turn", "turn of another thread", "run"],
)
def test_a_snapshot_of_what_is_not_there_is_refused(
    session: SessionHandle, turn: TurnHandle, within: EventFilter
) -> None:
    """The same ownership as for events: NotFound, not an empty snapshot."""
    named = replace(within, turn_id=turn.turn_id) if within.turn_id == "turn" else within

    with pytest.raises(NotFound):
        session.snapshot(named)


@covers("R074", "R088")
def test_nothing_private_is_in_a_snapshot_or_an_event(
    session: SessionHandle, turn: TurnHandle, claim: Claim
) -> None:
    """No native state, no reasoning, no token and no binding, in any scope."""
    shown = json.dumps(as_json([session.snapshot(), session.list_events().items]))

    assert turn.turn_id in shown
    assert [word for word in (SECRET, claim.token, "binding") if word in shown] == []


@covers("R079", "R080")
def test_tools_here_and_elsewhere_share_one_view(turn: TurnHandle, claim: Claim) -> None:
    """Each fact of its own; only the external call has an execution id."""
    here, away = turn.snapshot().tools.values()

    assert (here.route, here.execution_id) == ("local", None)
    assert (away.route, away.execution_id) == ("hands", _external(turn))
    assert here.started_at is not None
    assert (here.received_at, here.applied_at, away.started_at) == (None, None, None)
    assert here.arguments == away.arguments == {"x": 1}


def _external(turn: TurnHandle) -> str:
    """The id of the Turn's call at Hands."""
    return ToolCall.objects.get(turn=turn.turn_id, route="hands").pk


@covers("R080")
@poses("T47")
def test_a_result_comes_before_its_application(
    turn: TurnHandle, claim: Claim, store: Store
) -> None:
    """I25: arguments, start, result, application, each once; an error shows its code alone."""
    call = ToolCall.objects.get(turn=turn.turn_id, route="local").pk
    failed = ResultDraft(
        execution_id=call,
        state=CallState.FAILED,
        error_code="EXCEPTION",
        error_text="no route to db-7.internal",
    )
    store.commit(claim, Go(), results=(failed,))
    received = turn.snapshot()
    store.commit(claim, Go(), applied=(call,), frame=FRAME)

    view, applied = (each.tools[_place(turn)] for each in (received, turn.snapshot()))

    assert (view.state, view.error_code, view.result) == ("FAILED", "EXCEPTION", None)
    assert view.received_at is not None
    assert (view.applied_at, applied.applied_at is not None) == (None, True)
    assert "db-7" not in json.dumps(as_json([turn.snapshot(), turn.list_events().items]))


def _place(turn: TurnHandle) -> str:
    """Where the Turn's first call stands."""
    return f"{turn.turn_id}/1/0"


@covers("R087")
@poses("S19")
def test_a_snapshot_is_of_one_moment(session: SessionHandle) -> None:
    """What is submitted between its statements is in no part of it, and behind its cursor."""
    session.submit("r1", "hello")
    asked: list[str] = []

    def submit_after(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        answer = execute(sql, params, many, context)
        asked.append(sql)
        if len(asked) == 3:
            in_thread(lambda: session.submit("r2", "later")).result(20)
        return answer

    with connection.execute_wrapper(submit_after):
        taken = session.snapshot()

    later = session.list_events(taken.cursor).items
    assert len(asked) > 3
    assert (len(taken.turns), len(taken.messages), taken.last_sequence) == (1, 1, 4)
    assert [event.sequence for event in later] == [5, 6]


@covers("R095")
@poses("S23")
def test_a_snapshot_answers_an_expired_cursor(session: SessionHandle) -> None:
    """After a restore old cursors expire; a projection is reset and follows again."""
    session.submit("r1", "hello")
    projection = EventProjection(session.snapshot())
    StoreState.objects.update(incarnation=new_id("inc_"))
    session.submit("r2", "again")

    with pytest.raises(CursorExpired, match="take a snapshot"):
        session.list_events(projection.cursor)
    projection.reset(session.snapshot())
    projection.accept_page(session.list_events(projection.cursor))

    assert projection.snapshot() == session.snapshot()


@covers("R010")
def test_a_snapshot_starts_nothing(session: SessionHandle, store: Store) -> None:
    """Reading leaves every row as it was."""
    session.submit("r1", "hello")
    rings = list(store.rings.threads)
    before = everything()

    session.snapshot()
    session.list_events()

    assert everything() == before
    assert store.rings.threads == rings


@covers("R082", "R084")
def test_what_is_listed_is_what_is_stored(session: SessionHandle, claim: Claim) -> None:
    """Only persisted public events, each with its sequence and its cursor."""
    listed = session.list_events(limit=1000).items

    assert [(event.sequence, event.type) for event in listed] == list(
        Event.objects.order_by("sequence").values_list("sequence", "type")
    )
    assert len({event.cursor for event in listed}) == len(listed)
    assert not any("delta" in event.type for event in listed)


@covers("R098")
def test_no_event_without_its_change(session: SessionHandle) -> None:
    """What undoes a change undoes its events and their numbers too."""
    before = session.list_events().last_sequence

    with suppress(RuntimeError), transaction.atomic():
        session.submit("r1", "hello")
        raise RuntimeError
    turn = session.submit("r1", "hello")

    assert [event.sequence for event in turn.list_events().items] == [before + 1, before + 2]
