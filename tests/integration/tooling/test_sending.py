"""What leaves the house, when, and how often (S8, S9, S13, S20, R182)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.fault_plan import FaultRaised
from hands_app.contract.faults import plan
from hands_app.contract.messages import (
    Execute,
    Query,
    parse_control,
    parse_execute,
)
from sessions_app.contract.status import CallState
from sessions_app.models import ToolCall
from sessions_app.runtime import DurableRuntime
from sessions_app.store import clock
from tests.covers import covers, poses
from tests.integration.tooling.house import SOON, House, fresh, intent, thread_of, told

if TYPE_CHECKING:
    from hands_app.contract.messages import Command
    from hands_app.contract.strict_json import JsonValue
    from tests.integration.tooling.house import Letter


def _read(letter: Letter) -> Command:
    return parse_control(letter.text) if letter.control else parse_execute(letter.text)


def test_a_call_leaves_once_its_intent_is_committed(house: House) -> None:
    """Right after the commit the command goes to its pool, and the row says so first."""
    call = house.ask()

    sent = house.dispatch.due()

    (letter,) = house.post.take()
    row = fresh(call)
    assert sent == 1
    assert (letter.route, letter.control) == ("hands", False)
    assert row.deliveries == 1
    assert row.dispatched_at is not None
    assert row.deliver_at == row.dispatched_at + timedelta(seconds=5)
    assert row.state == CallState.INTENDED


def test_a_lost_command_is_sent_again_after_five_seconds(house: House) -> None:
    """Nothing came back: by the database's clock the command is due again, and not before."""
    call = house.ask()
    house.dispatch.due()
    house.post.take()

    with clock.offset(timedelta(seconds=4)):
        early = house.dispatch.due()
    with clock.offset(SOON):
        again = house.carry_commands()

    assert early == 0
    assert again == ["new"]
    assert fresh(call).deliveries == 2


@poses("S8")
def test_every_sending_has_a_fresh_time_after_which_nothing_starts(house: House) -> None:
    """`not_after` is on the row before it leaves, and moves with each sending (S8)."""
    call = house.ask()
    house.dispatch.due()
    first = _read(house.post.take()[0])
    stored = fresh(call).not_after

    with clock.offset(SOON):
        house.dispatch.due()
    second = _read(house.post.take()[0])

    assert isinstance(first, Execute)
    assert isinstance(second, Execute)
    assert first.not_after == stored
    assert second.not_after == fresh(call).not_after
    assert second.not_after - first.not_after > timedelta(seconds=5)
    assert first.request_digest == second.request_digest


@poses("S8")
def test_a_call_is_commanded_until_it_is_admitted_and_asked_about_then(house: House) -> None:
    """Once its admission is confirmed only questions leave (S8)."""
    call = house.admitted()
    stored = call.not_after

    with clock.offset(SOON):
        house.dispatch.due()

    question = _read(house.post.take()[0])
    assert isinstance(question, Query)
    assert question.after == call.inbox_position == 1
    assert fresh(call).not_after == stored


@poses("S20")
def test_a_lost_last_update_is_found_by_asking(house: House) -> None:
    """The prefix is contiguous, so nobody misses its end; the regular question brings it (S20)."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    for update in house.take_updates()[:-1]:
        house.bring(update)

    with clock.offset(SOON):
        house.carry_commands()
        house.carry_updates()

    assert fresh(call).state == CallState.COMPLETED


def test_a_command_that_is_doubled_runs_once(house: House) -> None:
    """Hands knows a command again by its identity; the Brain knows the updates again."""
    call = house.ask()
    house.dispatch.due()
    (letter,) = house.post.take()

    outcomes = [house.pool.obey(letter.text) for _ in range(3)]
    house.pool.run()
    house.carry_updates()

    assert outcomes == ["new", "same", "same"]
    assert fresh(call).attempts == 1
    assert told(call).count("tool.started") == 1


@poses("S20")
def test_an_open_call_is_always_due_some_time(house: House) -> None:
    """From intent to result the outbox never loses a call, and after it sends nothing (S20)."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    seen = []
    for update in house.take_updates():
        seen.append(fresh(call).deliver_at)
        house.bring(update)

    with clock.offset(timedelta(days=1)):
        sent = house.dispatch.due()

    assert None not in seen
    assert fresh(call).deliver_at is None
    assert sent == 0


def test_signs_of_life_put_off_the_next_question(house: House) -> None:
    """A call that was just heard of is not asked about."""
    call = house.ask()
    house.carry_commands()
    house.pool.start()

    with clock.offset(timedelta(seconds=3)):
        house.carry_updates()
    with clock.offset(SOON):
        sent = house.dispatch.due()

    assert sent == 0
    assert fresh(call).state == CallState.STARTED


def test_a_broker_that_takes_nothing_costs_time_only(house: House) -> None:
    """A sending that is not confirmed is counted and comes again."""
    call = house.ask()
    house.post.lost = True
    house.dispatch.due()
    house.post.lost = False

    with clock.offset(SOON):
        outcome = house.carry_commands()

    assert house.dispatch.unconfirmed == 1
    assert outcome == ["new"]
    assert fresh(call).deliveries == 2


@pytest.mark.parametrize(
    ("place", "left"), [("before_send", 0), ("after_send", 1)], ids=["unsent", "sent"]
)
def test_a_dispatcher_that_dies_around_the_sending_is_repaired(
    house: House, place: str, left: int
) -> None:
    """Whether it left or not: it is due again, and what comes twice is known again."""
    house.ask()

    with plan({f"hands.dispatch.{place}": "raise"}), pytest.raises(FaultRaised):
        house.dispatch.due()
    first = house.carry_commands()
    with clock.offset(SOON):
        second = house.carry_commands()

    assert first == ["new"] * left
    assert second == (["same"] if left else ["new"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"text": "x" * 1024 * 1024}, "TOO_LARGE"), (["no object"], "INVALID_COMMAND")],
    ids=["large", "list"],
)
def test_a_call_that_fits_no_command_ends_at_once(
    house: House, arguments: JsonValue, code: str
) -> None:
    """The model is told at once, since waiting would not help; nothing was executed."""
    (call,) = house.asks(intent(arguments=arguments))

    house.dispatch.due()

    ended = fresh(call)
    assert house.post.take() == []
    assert (ended.state, ended.error_code) == (CallState.NOT_EXECUTED, code)
    assert "cannot be put into a command" in ended.result["errorText"]
    assert thread_of(call).wake_at is not None
    assert house.go_on(call).turn_id == call.turn_id


@pytest.mark.tampers
def test_arguments_that_changed_after_the_intent_are_not_sent(house: House) -> None:
    """The digest of the intent is held against what would leave (I34)."""
    call = house.ask()
    ToolCall.objects.filter(pk=call.pk).update(arguments={"text": "something else"})

    house.dispatch.due()

    assert house.post.take() == []
    assert fresh(call).state == CallState.NOT_EXECUTED


@pytest.mark.tampers
@poses("S9")
def test_a_call_that_may_have_left_is_never_closed_here(house: House) -> None:
    """Once it was sent, only Hands says that it was not executed (S9)."""
    call = house.ask()
    house.dispatch.due()
    ToolCall.objects.filter(pk=call.pk).update(arguments={"text": "something else"})

    with clock.offset(SOON):
        house.dispatch.due()

    assert fresh(call).state == CallState.INTENDED
    assert house.dispatch.unsendable == 1


@covers("R185")
def test_a_cancel_overtakes_a_command_that_is_not_admitted(house: House) -> None:
    """The wish leaves instead of the command, leaves a tombstone, and the call ends (R185, I29)."""
    call = house.ask()
    house.dispatch.due()
    (late,) = house.post.take()
    DurableRuntime().find_turn(call.turn_id).cancel("cancel-1")

    with clock.offset(SOON):
        cancelled = house.carry_commands()
    after = house.pool.obey(late.text)
    house.carry_updates()

    assert cancelled == ["tombstoned"]
    assert after == "tombstoned"
    assert fresh(call).state == CallState.CANCELLED


def test_a_cancel_that_was_accepted_is_not_sent_again(house: House) -> None:
    """A started call is asked about once the pool has taken the wish in."""
    call = house.ask()
    house.carry_commands()
    house.pool.start()
    house.carry_updates()
    DurableRuntime().find_turn(call.turn_id).cancel("cancel-1")

    with clock.offset(SOON):
        wished = house.carry_commands()
        house.carry_updates()
    with clock.offset(SOON * 2):
        house.dispatch.due()

    assert wished == ["requested"]
    assert fresh(call).cancel_accepted_at is not None
    assert isinstance(_read(house.post.take()[0]), Query)
