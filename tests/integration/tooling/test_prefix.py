"""Updates count as a contiguous prefix: repeats do nothing, gaps are asked for (I30, R189)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.fault_plan import FaultRaised
from hands_app.contract.faults import plan
from hands_app.contract.messages import Query, parse_control
from sessions_app.contract.status import CallState
from sessions_app.models import Event, ToolCall
from tests.covers import covers
from tests.integration.tooling.house import House, fresh, thread_of, told
from tests.stores import in_thread

if TYPE_CHECKING:
    from hands_app.contract.messages import Update


def _ended(house: House) -> tuple[ToolCall, list[Update]]:
    """A call that ran to its end, and the updates that nobody has carried yet."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    return call, house.take_updates()


def _row(call: ToolCall) -> dict[str, object]:
    return {name: value for name, value in vars(fresh(call)).items() if name != "_state"}


def _questions(house: House) -> list[Query]:
    asked = [parse_control(letter.text) for letter in house.post.take()]
    return [each for each in asked if isinstance(each, Query)]


def test_a_repeat_changes_nothing(house: House) -> None:
    """Every update a second time, in any place, leaves rows and timeline as they are."""
    call, updates = _ended(house)
    for update in updates:
        house.bring(update)
    before, events = _row(call), Event.objects.count()

    again = [house.bring(update) for update in reversed(updates)]

    assert again == ["duplicate"] * len(updates)
    assert _row(call) == before
    assert Event.objects.count() == events


def test_a_gap_is_asked_for_and_not_applied(house: House) -> None:
    """An update whose predecessor is missing waits, and the pool is asked for the rest."""
    call, updates = _ended(house)

    taken = house.bring(updates[-1])

    assert taken == "gap"
    assert fresh(call).inbox_position == 0
    assert fresh(call).state == CallState.INTENDED
    (question,) = _questions(house)
    assert (question.execution_id, question.after) == (call.pk, 0)


def test_the_answer_to_a_question_fills_the_gap(house: House) -> None:
    """What was lost on the way is told again by the ledger and applied in order."""
    call, updates = _ended(house)
    house.bring(updates[0])
    house.bring(updates[3])

    for letter in house.post.take():
        house.pool.obey(letter.text, control=letter.control)
    house.carry_updates()

    assert fresh(call).state == CallState.COMPLETED
    assert fresh(call).inbox_position == len(updates)


def test_an_early_update_follows_its_predecessor_at_once(house: House) -> None:
    """Two that changed places on the way need no answer: the early one was kept for a moment."""
    call, (admitted, started, progress, result) = _ended(house)

    taken = [house.bring(update) for update in (started, admitted, result, progress)]

    assert taken == ["gap", "applied", "gap", "applied"]
    assert fresh(call).state == CallState.COMPLETED
    assert told(call) == ["tool.requested", "tool.started", "tool.progress", "tool.result"]


def test_many_early_updates_ask_once(house: House) -> None:
    """Of several updates behind one gap only the first has it asked for."""
    _, updates = _ended(house)

    for update in updates[1:]:
        house.bring(update)

    assert len(_questions(house)) == 1


def test_a_result_that_arrives_twice_wakes_once(house: House) -> None:
    """The first terminal state stays, and a repeat does not ring."""
    call, updates = _ended(house)
    for update in updates:
        house.bring(update)
    rings = len(house.store.rings.threads)

    house.bring(updates[-1])

    assert len(house.store.rings.threads) == rings
    assert told(call).count("tool.result") == 1


def test_threads_that_take_in_at_once_lose_nothing(house: House) -> None:
    """The slots of an intake worker meet at one execution in any order, each update twice."""
    call, updates = _ended(house)

    taking = [in_thread(partial(house.bring, update)) for update in [*reversed(updates), *updates]]
    outcomes = [future.result(20) for future in taking]
    house.pool.told.extend(updates)
    house.carry_updates()

    assert set(outcomes) <= {"applied", "duplicate", "gap"}
    assert fresh(call).state == CallState.COMPLETED
    assert told(call) == ["tool.requested", "tool.started", "tool.progress", "tool.result"]


@covers("R184")
@pytest.mark.parametrize("place", ["after_lock", "before_commit"])
def test_an_intake_that_fails_leaves_nothing(house: House, place: str) -> None:
    """Before its commit an update has no effect, and it can be delivered again (R184)."""
    call, updates = _ended(house)
    before = _row(call)

    with plan({f"hands.intake.{place}": "raise"}), pytest.raises(FaultRaised):
        house.bring(updates[0])

    assert _row(call) == before
    assert house.bring(updates[0]) == "applied"


@covers("R184")
def test_an_intake_that_dies_after_its_commit_is_repeated_without_effect(house: House) -> None:
    """After its commit the acknowledgement may be lost: the redelivery is a duplicate (R184)."""
    call, updates = _ended(house)
    for update in updates[:-1]:
        house.bring(update)

    with plan({"hands.intake.after_commit": "raise"}), pytest.raises(FaultRaised):
        house.bring(updates[-1])

    assert house.bring(updates[-1]) == "duplicate"
    assert fresh(call).state == CallState.COMPLETED
    assert thread_of(call).wake_at is not None


def test_signs_of_life_are_bounded(house: House) -> None:
    """A payload too large for an event keeps the beginning of its message only."""
    call = house.ask()
    house.carry_commands()
    claim = house.pool.start()
    house.pool.progress(claim, {"message": "m" * 9000, "data": {"rows": ["x" * 100] * 400}})

    house.carry_updates()

    assert fresh(call).progress == {"message": "m" * 2000, "cut": True}
    newest = Event.objects.filter(type="tool.progress").get()
    assert newest.payload["progress"] == {"message": "m" * 2000, "cut": True}
