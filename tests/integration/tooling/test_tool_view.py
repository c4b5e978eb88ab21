"""What readers see of a tool call: one view, wherever it runs, that tells each fact apart."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hands_app.contract.messages import ExecutionResult, ExecutionState
from sessions_app.contract.backend import Finish, ResultDraft
from sessions_app.contract.projection import EventProjection
from sessions_app.contract.status import CallState
from sessions_app.runtime import DurableRuntime
from tests.covers import covers
from tests.integration.tooling.house import House, intent, turn_of
from tests.stores import FRAME, tool_intent

if TYPE_CHECKING:
    from sessions_app.contract.views import ToolView
    from sessions_app.models import ToolCall
    from sessions_app.runtime import TurnHandle

DONE = ExecutionResult(state=ExecutionState.COMPLETED, content={"sent": "hello"})
FACTS = ("started_at", "progress", "received_at", "applied_at")


def _turn(call: ToolCall) -> TurnHandle:
    return DurableRuntime().find_turn(call.turn_id)


def _view(call: ToolCall) -> ToolView:
    (view,) = _turn(call).list_tools().items
    return view


def _known(call: ToolCall) -> list[str]:
    view = asdict(_view(call))
    return [name for name in FACTS if view[name] is not None]


@covers("R078", "R080")
def test_a_call_is_followed_from_its_arguments_to_its_application(house: House) -> None:
    """Request, start, progress, receipt and application are facts of their own, in one view."""
    call = house.ask()
    seen = [_known(call)]
    house.carry_commands()
    claim = house.pool.start()
    house.pool.progress(claim, {"message": "on its way"})
    house.carry_updates()
    seen.append(_known(call))
    house.pool.finish(claim, DONE)
    house.carry_updates()
    seen.append(_known(call))
    house.store.commit(
        house.go_on(call), Finish(result={"parts": []}), frame=FRAME, applied=(call.pk,)
    )
    seen.append(_known(call))

    view = _view(call)
    assert seen == [list(FACTS[:n]) for n in (0, 2, 3, 4)]
    assert (view.call_id, view.turn_id, view.key.thread_id) == ("call-1", call.turn_id, "main")
    assert (view.arguments, view.progress) == ({"text": "hello"}, {"message": "on its way"})
    assert (view.state, view.result) == (CallState.COMPLETED, {"sent": "hello"})


@covers("R079")
def test_only_a_call_that_ran_elsewhere_shows_an_execution_id(house: House) -> None:
    """Both stand in one list with the same members; Hands know the second by its id."""
    claim = house.claimed()
    house.store.answered(claim, tool_intent(), intent(call_id="call-2", ordinal=1))
    turn = DurableRuntime().find_turn(claim.turn_id)

    here, elsewhere = turn.list_tools().items

    assert (here.route, here.execution_id) == ("local", None)
    assert elsewhere.execution_id == house.store.backend.load(claim).calls[1].execution_id
    assert asdict(here).keys() == asdict(elsewhere).keys()


@covers("R081")
def test_an_unknown_call_shows_no_result_until_there_is_evidence(house: House) -> None:
    """The state is UNKNOWN and the result absent; what is shown then is what really came out."""
    call = house.ask()
    house.carry_commands()
    claim = house.pool.start()
    house.pool.die(claim)
    house.carry_updates()
    doubtful = _view(call)

    house.pool.finish(claim, DONE)
    house.carry_updates()

    assert (doubtful.state, doubtful.result) == (CallState.UNKNOWN, None)
    assert (_view(call).state, _view(call).result) == (CallState.COMPLETED, {"sent": "hello"})


@covers("R081")
def test_the_output_after_a_recovery_is_the_one_that_was_stored(house: House) -> None:
    """The first result of a call stays, whatever a later Run reports for it."""
    claim = house.claimed()
    answer = house.store.answered(claim, tool_intent())
    (call_id,) = answer.execution_ids.values()
    first = ResultDraft(execution_id=call_id, state=CallState.COMPLETED, content="the first")
    house.store.commit(claim, results=(first,))

    later = first.model_copy(update={"content": "another"})
    house.store.commit(claim, results=(later,))

    (view,) = DurableRuntime().find_turn(claim.turn_id).list_tools().items
    assert view.result == "the first"


@covers("R078")
def test_events_add_up_to_the_list_of_tools(house: House) -> None:
    """A reader who folds the timeline knows what one who lists the calls knows."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    house.carry_updates()

    session = DurableRuntime().get_session("acme", turn_of(call).session.session_id)
    told = EventProjection.of(session.key)
    told.accept_page(session.list_events())

    assert list(told.snapshot().tools.values()) == list(_turn(call).list_tools().items)


def test_tools_come_in_pages_in_the_order_of_the_replies(house: House) -> None:
    """Rounds first, then the places in a reply; each call once."""
    claim = house.claimed()
    for ordinal in (1, 2):
        calls = [intent(call_id=f"c{place}", ordinal=place) for place in range(3)]
        house.store.answered(claim, *calls, ordinal=ordinal)
    turn = DurableRuntime().find_turn(claim.turn_id)

    seen: list[Any] = []
    cursor = None
    for _ in range(3):
        page = turn.list_tools(cursor, limit=2)
        seen += [(view.round, view.ordinal) for view in page.items]
        cursor = page.next_cursor

    assert seen == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert cursor is None
