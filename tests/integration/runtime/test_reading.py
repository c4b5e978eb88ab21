"""Law 11: reads start nothing; they are bounded, and cut into pages by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.contract.errors import Invalid, NotFound
from sessions_app.contract.paging import Cursor
from sessions_app.runtime import DurableRuntime, SessionHandle, TurnHandle
from sessions_app.store import fleet, looking, reads
from tests.covers import covers
from tests.integration.runtime.world import everything
from tests.stores import AGENT, tool_intent

if TYPE_CHECKING:
    from sessions_app.contract.paging import Page
    from tests.stores import Store

Read = Callable[[SessionHandle, TurnHandle, str], Any]

READS: dict[str, Read] = {
    "session": lambda session, _turn, _run: session.view(),
    "sessions": lambda session, _turn, _run: session.runtime.list_sessions("acme"),
    "get session": lambda session, _turn, _run: session.runtime.get_session("acme", "s1"),
    "thread": lambda session, _turn, _run: session.main.view(),
    "threads": lambda session, _turn, _run: session.list_threads(),
    "turn": lambda _session, turn, _run: turn.status(),
    "turn by id": lambda session, turn, _run: session.runtime.find_turn(turn.turn_id),
    "turn of session": lambda session, turn, _run: session.get_turn(turn.turn_id),
    "turns of session": lambda session, _turn, _run: session.list_turns(),
    "turns of thread": lambda session, _turn, _run: session.main.list_turns(),
    "history": lambda session, _turn, _run: session.history(),
    "events": lambda session, _turn, _run: session.list_events(),
    "events of thread": lambda session, _turn, _run: session.main.list_events(),
    "events of turn": lambda _session, turn, _run: turn.list_events(),
    "explain": lambda _session, turn, _run: turn.explain(),
    "tools": lambda _session, turn, _run: turn.list_tools(),
    "checkpoints": lambda session, _turn, _run: session.main.checkpoints(),
    "runs": lambda _session, turn, _run: turn.list_runs(),
    "steps": lambda _session, turn, run: turn.list_steps(run),
    "model calls": lambda _session, turn, run: turn.list_model_calls(run),
    "run": lambda _session, turn, run: turn.get_run(run),
    "step": lambda _session, turn, run: turn.get_step(turn.list_steps(run).items[0].step_id),
    "model call": lambda _session, turn, run: turn.get_model_call(
        turn.list_model_calls(run).items[0].call_id
    ),
    "capabilities": lambda session, _turn, _run: session.runtime.capabilities(),
    "hosts": lambda _session, _turn, _run: fleet.hosts(),
    "owned": lambda _session, _turn, _run: fleet.owned(),
}
MOST_STATEMENTS = 16  # of an explanation, which asks for late outcomes too; one opens its snapshot


@pytest.fixture
def turn(session: SessionHandle, store: Store) -> TurnHandle:
    """Give a Turn that waits for an external tool, with an outcome, a Run and Steps behind it."""
    made = session.submit("r1", "hello")
    store.answered(store.claim(), tool_intent())
    return made


@pytest.fixture
def run_id(turn: TurnHandle) -> str:
    """Give its Run."""
    return turn.list_runs().items[0].run_id


@covers("R010")
def test_law_11_reading_starts_nothing(
    session: SessionHandle, turn: TurnHandle, run_id: str, store: Store
) -> None:
    """R010: no read changes a row, `wake_at` included, and none wakes anybody."""
    before, rung = everything(), list(store.rings.threads)

    guilty = []
    for name, read in READS.items():
        read(session, turn, run_id)
        if everything() != before or store.rings.threads != rung:
            guilty.append(name)

    assert guilty == []


def test_reading_takes_as_many_statements_for_many_rows(
    session: SessionHandle, turn: TurnHandle, run_id: str
) -> None:
    """The number of statements is bounded and does not follow the number of rows."""
    few = _statements(session, turn, run_id)
    for number in range(8):
        session.submit(f"more-{number}", "hello")
        session.create_thread(f"aside-{number}", AGENT.name)
        session.runtime.create_session("acme", f"more-{number}", agent=AGENT.name)

    many = _statements(session, turn, run_id)

    assert many == few
    assert max(many.values()) <= MOST_STATEMENTS


def _statements(session: SessionHandle, turn: TurnHandle, run_id: str) -> dict[str, int]:
    counts = {}
    for name, read in READS.items():
        with CaptureQueriesContext(connection) as seen:
            read(session, turn, run_id)
        counts[name] = len(seen)
    return counts


def test_pages_give_each_row_once(session: SessionHandle) -> None:
    """Rows that come in between neither repeat nor hide others: pages follow keys, not offsets."""
    turns = [session.submit(f"r{number}", "hello").turn_id for number in range(7)]

    seen, cursor = [], None
    for _ in range(3):
        page = session.main.list_turns(cursor, limit=3)
        seen += [view.turn_id for view in page.items]
        cursor = page.next_cursor

    assert seen == turns
    assert cursor is None


def test_last_page_that_is_full_says_so(session: SessionHandle) -> None:
    """No cursor leads to an empty page."""
    for number in range(2):
        session.submit(f"r{number}", "hello")

    assert session.list_turns(limit=2).next_cursor is None


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_limits_are_bounded(session: SessionHandle, limit: int) -> None:
    """A page has 1 to 1000 rows."""
    for read in (session.list_turns, session.list_threads, session.history, session.list_events):
        with pytest.raises(Invalid, match="limit"):
            read(limit=limit)


def _page_cursor(page: Page[Any]) -> str:
    assert page.next_cursor is not None
    return page.next_cursor


def test_cursor_belongs_to_its_list(session: SessionHandle) -> None:
    """A cursor of another list, or of nobody, is refused: it would skip what was never seen."""
    for number in range(2):
        session.submit(f"r{number}", "hello")
    of_thread = _page_cursor(session.main.list_turns(limit=1))

    for cursor in (of_thread, "", "nonsense", "WzEsMl0", "W10", "ü"):
        with pytest.raises(Invalid, match="cursor"):
            session.list_turns(cursor)


def test_a_place_that_no_page_gives_is_refused(session: SessionHandle) -> None:
    """A list in order of numbers has no place that is a word; a timeline none beyond 2**53."""
    session.submit("r1", "hello")
    word = looking._encode(f"turns of {session.main.key}", "word")
    place = Cursor.decode(_page_cursor(session.list_events()))

    with pytest.raises(Invalid, match="cursor"):
        session.main.list_turns(word)
    with pytest.raises(Invalid, match="cursor"):
        session.list_events(replace(place, sequence=2**63).encode())


def test_foreign_and_unknown_answer_alike(runtime: DurableRuntime, session: SessionHandle) -> None:
    """Who asks in a wrong place learns nothing about what exists elsewhere."""
    turn = session.submit("r1", "hello")
    other = runtime.create_session("other", "s1", agent=AGENT.name)

    for turn_id in (turn.turn_id, "turn_unknown"):
        with pytest.raises(NotFound, match=f"turn {turn_id} was not found in other/s1"):
            other.get_turn(turn_id)


def test_foreign_runs_are_not_found(session: SessionHandle, turn: TurnHandle, run_id: str) -> None:
    """A Run is read through its own Turn, a Step through its own Run."""
    other = session.submit("r2", "hello")

    for read in (other.list_steps, other.list_model_calls, other.get_run):
        with pytest.raises(NotFound):
            read(run_id)
    for look in (
        turn.get_step,
        turn.get_model_call,
        lambda step: turn.list_model_calls(run_id, step),
    ):
        with pytest.raises(NotFound, match="unknown was not found in"):
            look("unknown")


def test_a_handle_made_of_foreign_ids_reads_nothing(
    runtime: DurableRuntime, turn: TurnHandle, run_id: str
) -> None:
    """Who rebuilds it puts a Turn beside a Thread that is not its own (R009, I40)."""
    other = runtime.create_session("other", "s1", agent=AGENT.name).main.key
    step, asked = turn.list_steps(run_id).items[0], turn.list_model_calls(run_id).items[0]
    foreign = TurnHandle(other, turn.turn_id, runtime)

    for read in (
        partial(foreign.get_run, run_id),
        partial(foreign.list_steps, run_id),
        partial(foreign.get_step, step.step_id),
        partial(foreign.list_model_calls, run_id),
        partial(foreign.get_model_call, asked.call_id),
    ):
        with pytest.raises(NotFound, match="was not found in other/s1"):
            read()


@covers("R020", "R064")
def test_what_ran_is_shown(turn: TurnHandle, run_id: str) -> None:
    """Runs, their Steps, and the model requests of a Run or of one Step, in lists and singly."""
    steps = turn.list_steps(run_id).items
    (asked,) = turn.list_model_calls(run_id).items

    assert [step.phase for step in steps] == ["REASONING", "TOOL"]
    assert (asked.status, asked.input_tokens, asked.output_tokens) == ("COMPLETED", 3, 4)
    assert turn.list_model_calls(run_id, steps[0].step_id).items == (asked,)
    assert turn.list_model_calls(run_id, steps[1].step_id).items == ()
    assert turn.get_run(run_id) == turn.list_runs().items[0]
    assert turn.get_step(steps[1].step_id) == steps[1]
    assert turn.get_model_call(asked.call_id) == asked


@covers("R155")
def test_recovery_is_shown_after_a_failure(session: SessionHandle, store: Store) -> None:
    """R155: null before the first failure, then policy, count and next try."""
    turn = session.submit("r1", "hello")
    before = turn.status().recovery
    store.fail(store.claim())

    recovery = turn.status().recovery

    assert before is None
    assert recovery is not None
    assert (recovery.failures, recovery.retries, recovery.first_delay_ms) == (1, 3, 1000)
    assert recovery.next_try_at is not None
    assert recovery.error_code == "HTTP_503"


@covers("R009", "R039")
def test_handles_are_rebuilt_from_ids(runtime: DurableRuntime, session: SessionHandle) -> None:
    """R009, R039: another runtime gives the same handles from what the application stored."""
    turn = session.submit("r1", "hello")

    with DurableRuntime() as other:
        rebuilt = other.get_session("acme", "s1").get_thread("main").get_turn(turn.turn_id)
        status = rebuilt.status()

    assert rebuilt == turn
    assert hash(rebuilt) == hash(turn)
    assert status == turn.status()
    assert reads.turn(turn.turn_id) == status


@covers("R024")
async def test_every_read_has_an_awaitable_twin(runtime: DurableRuntime) -> None:
    """R024: on an event loop the same calls run off the loop."""
    session = await runtime.acreate_session("acme", "s1", agent=AGENT.name)
    turn = await session.asubmit("r1", "hello")

    assert (await turn.astatus()).status == "QUEUED"
    assert (await turn.aexplain()).turn_id == turn.turn_id
    assert (await runtime.aget_session("acme", "s1")) == session
    assert [view.key for view in (await session.alist_threads()).items] == [turn.key]
    assert len((await session.ahistory()).items) == 1
    assert (await turn.alist_runs()).items == ()
