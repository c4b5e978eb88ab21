"""Results on their way into a Turn: the first stays, is applied once, and never awaited in vain."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.fault_plan import FaultRaised
from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionResult, ExecutionState, UpdateKind
from sessions_app.contract.backend import Park
from sessions_app.contract.status import CallState, TurnStatus
from sessions_app.models import Checkpoint, Event, Thread, ToolCall
from sessions_app.store import clock
from tests.covers import covers, poses
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import SOON, House, fresh, intent, thread_of, told, turn_of
from tests.stores import FRAME

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from hands_app.contract.strict_json import JsonValue

MIXED: list[dict[str, JsonValue]] = [
    {"text": "plain"},
    {"text": "ä \u2028 \U0001f600 \x7f"},
    {"text": "[result missing]"},
    {"text": '{"state":"NOT_EXECUTED"}'},
    {"text": ""},
    {"text": " \n"},
]


@covers("R143", "R176")
def test_a_result_wakes_its_turn_and_is_applied_with_a_checkpoint(house: House) -> None:
    """R143, R176: the Turn that asked; at the position of a checkpoint, in a later Run."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    asleep = thread_of(call).wake_at
    house.carry_updates()

    received = fresh(call)
    claim = house.go_on(call)
    house.store.commit(claim, frame=FRAME, applied=(call.pk,))

    applied = fresh(call)
    assert asleep is None
    assert claim.turn_id == call.turn_id
    assert (received.received_at is not None, received.applied_at) == (True, None)
    assert applied.applied_at is not None
    newest = Checkpoint.objects.filter(thread=call.thread_id).latest("ordinal")
    assert applied.applied_position == newest.position
    assert applied.applied_run == claim.run_id
    assert applied.applied_run != applied.origin_run
    assert (applied.origin_run, applied.origin_step) == (call.origin_run, call.origin_step)
    house.store.finish(claim)


@poses("C51")
@pytest.mark.parametrize("seed", range(4))
def test_of_two_ends_the_first_by_source_order_stays(house: House, seed: int) -> None:
    """C51: each update three times in any order, an error and a success for one execution."""
    call = house.ask()
    house.carry_commands()
    claim = house.pool.start()
    house.pool.finish(claim, ExecutionResult(state=ExecutionState.COMPLETED, content="first"))
    updates = house.take_updates()
    second = _failure_behind(updates[-1])
    arrivals = [*updates, second] * 3
    random.Random(seed).shuffle(arrivals)  # noqa: S311 - an order, not a secret

    for update in arrivals:
        house.bring(update)
    for letter in house.post.take():
        house.pool.obey(letter.text, control=letter.control)
    house.carry_updates()
    house.bring(second)

    ended = fresh(call)
    assert (ended.state, ended.result["content"]) == (CallState.COMPLETED, "first")
    assert told(call).count("tool.result") == 1
    assert thread_of(call).wake_at is not None


@poses("C54")
def test_real_results_stay_as_they_came_through_every_restart(house: House) -> None:
    """C54: byte for byte, by whatever process reads them next; no placeholder over a real one."""
    intents = [
        intent(arguments=arguments, call_id=f"call-{number}", ordinal=number)
        for number, arguments in enumerate(MIXED)
    ]
    calls = house.asks(*intents)
    house.carry_commands()
    house.pool.run()
    house.carry_updates()
    before = _seen(calls)

    for _ in calls:
        claim = house.go_on(calls[0])
        loaded = house.store.backend.load(claim).calls
        assert [facts.result for facts in loaded] == [fresh(call).result for call in calls]
        house.store.commit(claim, Park())
        Thread.objects.filter(pk=calls[0].thread_id).update(wake_at=clock.now())

    assert _seen(calls) == before
    assert [fresh(call).result["content"] for call in calls] == [
        {"sent": arguments["text"]} for arguments in MIXED
    ]


def _seen(calls: list[ToolCall]) -> list[Any]:
    """What anybody can read of the calls' results."""
    rows = [fresh(call) for call in calls]
    results = Event.objects.filter(session=calls[0].session_id, type="tool.result")
    return [[row.state, row.result] for row in rows] + list(results.values_list("payload"))


@poses("C45")
@pytest.mark.parametrize("place", ["brain.commit.before_commit", "brain.commit.after_commit"])
def test_a_turn_never_waits_for_what_nobody_owns(house: House, place: str) -> None:
    """C45: intent, wait and outbox are one commit: after a crash all of it is there or nothing."""
    claim = house.claimed()

    with plan({place: "raise@1"}), pytest.raises(FaultRaised):
        house.store.answered(claim, intent())

    stored = ToolCall.objects.filter(turn=claim.turn_id)
    assert stored.exists() is (place.endswith("after_commit"))
    assert all(call.deliver_at is not None for call in stored)


@poses("C45")
def test_a_command_that_is_lost_on_every_way_is_sent_until_it_arrives(house: House) -> None:
    """C45: each loss costs a look of the outbox; the Turn waits for what will come."""
    call = house.ask()
    for number in range(1, 4):
        with clock.offset(SOON * 4 * number):
            house.dispatch.due()
        assert house.post.take()
        assert turn_of(call).status == TurnStatus.WAITING

    with clock.offset(SOON * 40):
        house.carry_commands()
        house.pool.run()
        house.carry_updates()

    assert fresh(call).state == CallState.COMPLETED
    assert pools.effects == [call.pk]


def _failure_behind(update: Update) -> Update:
    """Make the error that a broken ledger would tell after it told the result."""
    error = {"code": "BROKEN", "message": "no, it failed"}
    return update.model_copy(
        update={
            "event_id": update.event_id[:-1] + ("0" if update.event_id[-1] != "0" else "1"),
            "sequence": update.sequence + 1,
            "kind": UpdateKind.RESULT,
            "payload": {"state": "FAILED", "content": None, "metadata": {}, "error": error},
        }
    )
