"""Output on the Brain's side: counts as events, pages on demand, private bodies (R190, R191)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from hands_app.contract.output import MAX_PAGE_BYTES
from hands_app.machine.output import Written
from sessions_app.contract.errors import Conflict, Invalid, NotFound, WaitTimeout
from sessions_app.contract.views import OutputView
from sessions_app.models import Event, OutputQuestion, ToolCall
from sessions_app.runtime import DurableRuntime, TurnHandle
from sessions_app.store import clock, output
from sessions_app.tooling.commands import Commands
from tests.covers import covers, poses
from tests.integration.tooling.house import Courier, House, fresh, intent, told
from tests.integration.tooling.pool import HOUSE, talk

if TYPE_CHECKING:
    from hands_app.worker.ports import Claim

SECRET = "a password among a thousand lines"


@pytest.fixture(autouse=True)
def _deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Brain be of the deployment that the pool serves."""
    monkeypatch.setitem(settings.DURABLE, "NAMESPACE", HOUSE)


def talking(house: House) -> ToolCall:
    """Give a call that was sent to the pool."""
    (call,) = house.asks(intent(talk, {"text": SECRET}))
    house.carry_commands()
    return call


def reader(house: House, call: ToolCall) -> tuple[TurnHandle, Courier]:
    """Give the Turn of a call, and what carries its questions."""
    direct = Courier(house)
    runtime = DurableRuntime(executor=direct)
    return runtime.find_turn(call.turn_id), direct


def write(house: House, claim: Claim, start: int, body: bytes) -> None:
    """Add to the output of a running tool."""
    house.pool.told.extend(house.pool.work.output(claim, Written(start, body)).updates)


@covers("R190", "R194", "R205")
def test_the_timeline_says_how_much_there_is_and_not_what(house: House) -> None:
    """R190, R194, R205: one event with call, execution and count, before the result; no byte."""
    call = talking(house)
    house.pool.run()
    house.carry_updates()

    assert told(call)[-2:] == ["tool.output", "tool.result"]
    event = Event.objects.filter(type="tool.output").latest("sequence")
    assert (event.payload["bytes"], event.payload["sealed"]) == (len(SECRET), True)
    assert (event.payload["callId"], event.payload["executionId"]) == (call.call_id, call.pk)
    assert (fresh(call).output_bytes, fresh(call).output_sealed) == (len(SECRET), True)
    (view,) = reader(house, call)[0].list_tools().items
    assert (view.output_bytes, view.output_sealed) == (len(SECRET), True)
    later = Event.objects.filter(session=call.session_id).exclude(type="tool.requested")
    assert not [each for each in later if SECRET in str(each.payload)]


@covers("R190", "R191")
def test_a_page_comes_by_the_queues_while_the_tool_runs(house: House) -> None:
    """R190: by offset; what is read goes away again, and nothing is left in the Brain."""
    call = talking(house)
    claim = house.pool.start()
    write(house, claim, 0, b"hello world")
    turn, _ = reader(house, call)

    first = turn.output(call.call_id, limit=5)
    rest = turn.output(call.pk, first.next)
    end = turn.output(call.pk, rest.next)

    assert first == OutputView(0, 5, b"hello", attempt=1, available=11)
    assert rest.data == b" world"
    assert end == OutputView(11, 11, available=11)
    assert not OutputQuestion.objects.exists()


@covers("R190")
def test_gaps_are_told_with_their_size(house: House) -> None:
    """A death is of unknown size; the bound is exact."""
    call = talking(house)
    claim = house.pool.start()
    write(house, claim, 0, b"so far")
    house.pool.die(claim)
    turn, _ = reader(house, call)

    gap = turn.output(call.pk, 6)

    assert (gap.gap, gap.lost, gap.next, gap.sealed) == ("died", None, 7, False)


def test_nobody_is_asked_where_the_row_knows(house: House) -> None:
    """A call that ended without output, and what lies behind a seal, cost no question."""
    call = talking(house)
    turn, direct = reader(house, call)
    house.pool.run()
    house.carry_updates()

    page = turn.output(call.pk, len(SECRET))

    assert (page.data, page.next, page.sealed, direct.sent) == (b"", len(SECRET), True, 0)


@poses("S8")
def test_output_that_the_ledger_has_no_more_is_a_gap(house: House) -> None:
    """S8: a pruned ledger starts no doubt about a call that ended; its bytes are expired."""
    call = talking(house)
    house.pool.run()
    house.carry_updates()
    before = fresh(call).state
    house.pool.forget()
    turn, _ = reader(house, call)

    page = turn.output(call.pk, 3)

    assert (page.gap, page.lost, page.next) == ("expired", len(SECRET) - 3, len(SECRET))
    assert page.sealed
    assert fresh(call).state == before


@poses("T23")
def test_a_page_that_nobody_asked_for_is_stored_nowhere(house: House) -> None:
    """T23: neither unasked nor twice, nor for another call or offset."""
    call, other = talking(house), talking(house)
    house.pool.run()
    house.carry_updates()
    question = output.ask(call.turn_id, call.pk, 0, 100)
    assert not isinstance(question, OutputView)
    house.pool.obey(Commands(HOUSE).output(question), control=True)
    (page,) = house.take_updates()
    foreign = page.model_copy(
        update={"execution_id": other.pk, "request_digest": other.request_digest}
    )
    pool_y = page.model_copy(update={"route": "elsewhere"})
    moved = page.model_copy(update={"payload": {**page.payload, "offset": 1, "data": "YQ=="}})

    assert house.bring(foreign) == "duplicate"
    assert house.bring(pool_y) == "refused"
    assert house.bring(moved) == "unreadable"
    assert output.take(question) is None
    assert house.bring(page) == "applied"
    assert house.bring(page) == "duplicate"
    assert output.take(question) is not None
    assert house.bring(page) == "duplicate"


def test_a_pool_that_does_not_answer_is_a_timeout(house: House) -> None:
    """Nothing is known then; the question is forgotten after a while."""
    call = talking(house)
    house.pool.run()
    house.carry_updates()
    turn = DurableRuntime(executor=house.post).find_turn(call.turn_id)

    with pytest.raises(WaitTimeout, match="hands"):
        turn.output(call.pk, timeout=0.05)

    assert OutputQuestion.objects.count() == 1
    OutputQuestion.objects.update(asked_at=clock.now() - output.KEPT - timedelta(seconds=1))
    reader(house, call)[0].output(call.pk)
    assert not OutputQuestion.objects.exists()


def test_bad_questions_are_refused(house: House) -> None:
    """Unknown calls, local ones, ambiguous names, and offsets that are none."""
    first, second, _ = house.asks(
        intent(talk, call_id="same", ordinal=0),
        intent(talk, call_id="same", ordinal=1),
        intent(talk, call_id="here", ordinal=2).model_copy(update={"route": "local"}),
    )
    turn, direct = reader(house, first)

    for name, error in (("none", NotFound), ("same", Invalid), ("here", Conflict)):
        with pytest.raises(error):
            turn.output(name)
    for offset, limit in ((-1, 1), (0, 0), (0, MAX_PAGE_BYTES + 1)):
        with pytest.raises(Invalid):
            turn.output(second.pk, offset, limit)
    assert direct.sent == 0


@covers("R191")
@pytest.mark.usefixtures("database")
def test_an_assembly_says_whose_output_can_be_read() -> None:
    """R191: what a pool wrote can be read; a call inside of the Brain leaves none."""
    able = {each.route: each.output for each in DurableRuntime().capabilities().executors}

    assert able["hands"]
    assert not able["local"]
