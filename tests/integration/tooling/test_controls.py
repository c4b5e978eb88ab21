"""Pause and cancel of a Turn whose tools run in the other house."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hands_app.contract.messages import ExecutionResult, ExecutionState, parse_control
from hands_app.machine.execution import cancelled
from sessions_app.contract.backend import Claim, Fail
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Turn
from sessions_app.runtime import DurableRuntime
from sessions_app.store import clock, controls
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.tooling.house import SOON, fresh, told, turn_of
from tests.stores import FRAME

if TYPE_CHECKING:
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.models import ToolCall
    from tests.integration.tooling.house import House


DONE = ExecutionResult(state=ExecutionState.COMPLETED, content={"sent": "hello"})
CLEAN = Fail(error_class="", code="SETTLED", text="", retryable=False, settled=FRAME)


def thread_of(call: ToolCall) -> ThreadKey:
    """The Thread that the call belongs to."""
    turn = Turn.objects.select_related("thread__session").get(pk=call.turn_id)
    return turn.thread.key_in(turn.thread.session.key)


def pause(call: ToolCall) -> None:
    """Pause the Turn of this call."""
    controls.pause(thread_of(call), call.turn_id, "p1")


def settled(house: House) -> Claim:
    """Claim what may go on and end it with a clean native state, as a Brain does."""
    claim = house.store.claim()
    house.store.commit(claim, CLEAN)
    return claim


@covers("R049", "R050")
def test_a_dispatched_call_carries_on_and_is_recorded_while_paused(house: House) -> None:
    """It starts and ends; the result is kept and nothing advances before the resume."""
    call = house.admitted()
    pause(call)

    house.pool.finish(house.pool.start(), DONE)
    house.carry_updates()

    assert fresh(call).state == CallState.COMPLETED
    assert turn_of(call).status == TurnStatus.PAUSED
    assert house.store.backend.claim(house.store.host, limit=1) == []
    controls.resume(thread_of(call), call.turn_id, "go", turn_of(call).revision)
    assert house.store.claim().turn_id == call.turn_id
    assert check().is_clean


@covers("R049")
@poses("S9")
def test_a_call_that_was_not_sent_yet_is_sent_while_paused(house: House) -> None:
    """From its commit on it counts as sent; a pause takes nothing back."""
    call = house.ask()
    pause(call)

    assert house.carry_commands() == ["new"]


@covers("R045")
@poses("S9", "S2")
def test_a_cancel_before_the_command_leaves_a_tombstone_and_ends(house: House) -> None:
    """Hands confirms that nothing will start; then one claim settles the Turn."""
    call = house.ask()
    controls.cancel(thread_of(call), call.turn_id, "c1")

    obeyed = house.carry_commands()
    house.carry_updates()
    claim = settled(house)

    assert obeyed == ["tombstoned"]
    assert fresh(call).state == CallState.CANCELLED
    assert claim.settling
    assert turn_of(call).status == TurnStatus.CANCELLED
    assert check(quiet=True).is_clean


@covers("R045")
@poses("C36")
def test_a_tool_that_ignores_a_cancel_and_finishes_is_waited_for(house: House) -> None:
    """The accepted cancel proves nothing, its real end does; the Turn is CANCELLED all the same."""
    call = house.ask()
    house.carry_commands()
    running = house.pool.start()
    house.carry_updates()
    controls.cancel(thread_of(call), call.turn_id, "c1")

    wished = house.carry_commands()
    house.carry_updates()
    assert turn_of(call).status == TurnStatus.CANCELLING
    house.pool.finish(running, DONE)
    house.carry_updates()
    settled(house)

    assert wished == ["requested"]
    assert fresh(call).state == CallState.COMPLETED
    assert turn_of(call).status == TurnStatus.CANCELLED
    assert check(quiet=True).is_clean


@covers("R052")
def test_resume_leaves_a_running_tool_running(house: House) -> None:
    """The Turn waits for its result as before the pause."""
    call = house.admitted()
    pause(call)

    controls.resume(thread_of(call), call.turn_id, "go", turn_of(call).revision)

    turn = turn_of(call)
    assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.TOOL)
    with clock.offset(SOON):
        house.dispatch.due()
    assert house.store.backend.claim(house.store.host, limit=1) == []


@covers("R045", "R148")
@poses("C36")
def test_requested_accepted_and_confirmed_are_three_facts(house: House) -> None:
    """Each has its event and its place in the view; the call goes on until its tool confirms."""
    call = house.ask()
    house.carry_commands()
    running = house.pool.start()
    house.carry_updates()
    seen = [_cancel_facts(call)]

    receipt = controls.cancel(thread_of(call), call.turn_id, "c1")
    seen.append(_cancel_facts(call))
    house.carry_commands()
    house.carry_updates()
    seen.append(_cancel_facts(call))
    house.pool.finish(running, cancelled("it stopped"))
    house.carry_updates()
    seen.append(_cancel_facts(call))

    assert receipt.outcome == "cancelling"
    assert seen == [
        (False, False, CallState.STARTED),
        (True, False, CallState.STARTED),
        (True, True, CallState.STARTED),
        (True, True, CallState.CANCELLED),
    ]
    assert told(call)[2:] == ["tool.cancel-requested", "tool.cancel-accepted", "tool.result"]


def _cancel_facts(call: ToolCall) -> tuple[bool, bool, CallState]:
    (view,) = DurableRuntime().find_turn(call.turn_id).list_tools().items
    asked, accepted = view.cancel_requested_at, view.cancel_accepted_at
    return asked is not None, accepted is not None, view.state


@covers("R185")
@poses("S20")
def test_a_cancel_is_sent_again_until_it_is_answered(house: House) -> None:
    """After 5 s even for a call of an hour ago; once it is accepted, the call is asked about."""
    call = house.ask()
    house.carry_commands()
    house.pool.start()
    house.carry_updates()
    with clock.offset(timedelta(hours=1)):
        controls.cancel(thread_of(call), call.turn_id, "c1")
        house.dispatch.due()
        lost = house.post.take()

    with clock.offset(timedelta(hours=1) + SOON):
        again = house.carry_commands()
        house.carry_updates()
    with clock.offset(timedelta(hours=2)):
        house.dispatch.due()
        (asked,) = house.post.take()

    assert [parse_control(letter.text).kind for letter in lost] == ["cancel"]
    assert again == ["requested"]
    assert parse_control(asked.text).kind == "query"


@poses("S20")
def test_signs_of_life_do_not_put_a_cancel_off(house: House) -> None:
    """What is to be sent now is sent now, however much the tool has to say meanwhile."""
    call = house.ask()
    house.carry_commands()
    running = house.pool.start()
    house.carry_updates()
    controls.cancel(thread_of(call), call.turn_id, "c1")

    house.pool.progress(running, {"message": "on its way"})
    house.carry_updates()

    assert house.carry_commands() == ["requested"]


def test_an_explanation_says_who_settles_a_cancelled_turn(house: House) -> None:
    """First the executions are named, then whoever has to come for it, then who is at it."""
    call = house.admitted()
    turn = DurableRuntime().find_turn(call.turn_id)
    controls.cancel(thread_of(call), call.turn_id, "c1")
    first = turn.explain()
    house.carry_commands()
    house.carry_updates()
    second = turn.explain()
    claim = house.store.claim()
    third = turn.explain()
    house.store.commit(claim, CLEAN)

    assert {said.cause for said in (first, second, third)} == {"cancelling"}
    assert first.waits_for == f"the end of {call.pk}"
    assert second.waits_for == "a hint or a scan"
    assert third.waits_for == f"the last commit of {claim.run_id}"
