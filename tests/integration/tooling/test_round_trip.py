"""A call leaves the house, runs once, and its result brings the Turn back to work."""

from __future__ import annotations

import json

from django.db import connection

from hands_app.contract.messages import ExecutionState, parse_execute
from hands_app.contract.strict_json import MARKER
from hands_app.contract.wire import encode
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import House, fresh, intent, thread_of, told, turn_of
from tests.stores import FRAME


@covers("R173")
def test_a_call_runs_once_and_its_result_wakes_the_turn(house: House) -> None:
    """Intent, command, admission, start, result and the next claim follow on one another."""
    call = house.ask()

    admitted = house.carry_commands()
    house.pool.run()
    taken = house.carry_updates()

    assert admitted == ["new"]
    assert taken == ["applied"] * 4
    ended = fresh(call)
    assert ended.state == CallState.COMPLETED
    assert ended.result == {"content": {"sent": "hello"}, "errorText": None}
    assert pools.effects == [call.pk]
    assert house.store.rings.threads[-1] == call.thread_id
    assert house.go_on(call).turn_id == call.turn_id


@covers("R080")
def test_each_fact_of_a_call_is_told_in_order(house: House) -> None:
    """The timeline tells intent, start, sign of life and result, each once (R080, I25)."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    house.carry_updates()

    assert told(call) == ["tool.requested", "tool.started", "tool.progress", "tool.result"]
    ended = fresh(call)
    begun = (ended.intended_at, ended.dispatched_at, ended.admitted_at)
    moments = [moment for moment in (*begun, ended.started_at, ended.received_at) if moment]
    assert len(moments) == 5
    assert moments == sorted(moments)
    assert ended.applied_at is None
    assert ended.deliver_at is None


def test_both_houses_compare_the_same_digest(house: House) -> None:
    """The digest stored with the intent is the one that Hands recomputes (I34)."""
    call = house.ask()
    house.dispatch.due()

    (letter,) = house.post.take()

    assert parse_execute(letter.text).request_digest == call.request_digest


@covers("R176", "R177")
def test_a_command_names_the_run_and_step_that_made_the_call(house: House) -> None:
    """The origin goes with the command, so that a tool can read it (R176, R177)."""
    call = house.ask()
    house.dispatch.due()

    command = parse_execute(house.post.take()[0].text)

    origin = command.origin
    assert (command.namespace, command.route) == (pools.HOUSE, call.route)
    assert (origin.namespace, origin.session_id) == ("acme", call.session.session_id)
    assert (origin.thread_id, origin.turn_id) == ("main", call.turn_id)
    assert (origin.run_id, origin.step_id) == (call.origin_run, call.origin_step)


def test_a_turn_goes_on_when_the_last_open_call_has_ended(house: House) -> None:
    """Of two calls of a reply the first result wakes nobody, the second does."""
    first, second = house.asks(intent(), intent(call_id="call-2", ordinal=1))
    house.carry_commands()
    house.pool.run()
    updates = house.take_updates()

    for update in (each for each in updates if each.execution_id == first.pk):
        house.bring(update)
    asleep = thread_of(first).wake_at
    for update in (each for each in updates if each.execution_id == second.pk):
        house.bring(update)

    assert asleep is None
    assert thread_of(first).wake_at is not None


@poses("S2")
def test_a_result_for_a_running_turn_waits_for_its_owner(house: House) -> None:
    """A lease that lives is not disturbed: the owner finds the result when it parks (S2)."""
    call = house.ask(park=False)
    house.carry_commands()
    house.pool.run()

    house.carry_updates()

    thread = thread_of(call)
    assert thread.lease_token is not None
    assert thread.wake_at == thread.lease_expires_at
    assert turn_of(call).status == TurnStatus.RUNNING


@covers("R209")
def test_what_a_tool_declares_arrives_as_it_was_produced(house: House) -> None:
    """Code, text and metadata of a declared failure reach the stored result (R209)."""
    (call,) = house.asks(intent(pools.fail, {"text": "the tray is empty"}))
    house.carry_commands()
    house.pool.run()

    house.carry_updates()

    ended = fresh(call)
    assert (ended.state, ended.error_code) == (CallState.FAILED, "NO_PAPER")
    assert ended.result == {
        "content": {"code": "NO_PAPER"},
        "errorText": "the tray is empty",
        "metadata": {"tray": 2},
    }


@poses("C16")
def test_text_that_no_database_keeps_is_mended_with_a_marker(house: House) -> None:
    """NUL and half a surrogate pair in a tool's text become a marker; the Turn goes on (C16)."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    *others, result = house.take_updates()
    for update in others:
        house.bring(update)
    envelope = json.loads(encode(result))
    envelope["payload"]["content"] = {"sent": "a\0b\ud800c"}

    taken = house.intake.receive(json.dumps(envelope))

    assert taken == "applied"
    assert fresh(call).result["content"] == {"sent": f"a{MARKER}b{MARKER}c"}


def test_a_round_trip_leaves_no_breach(house: House) -> None:
    """After the result was applied and the Turn finished, every invariant holds."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    house.carry_updates()
    claim = house.go_on(call)
    house.store.commit(claim, frame=FRAME, applied=(call.pk,))
    house.store.finish(claim)

    assert [str(breach) for breach in check().breaches] == []
    assert ExecutionState.COMPLETED.value == fresh(call).state


def test_a_waiting_turn_says_that_it_waits_for_a_tool(house: House) -> None:
    """Lease and slot are given back while the call is under way."""
    call = house.ask()
    house.carry_commands()

    turn = turn_of(call)

    assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.TOOL)
    assert thread_of(call).lease_token is None
    assert thread_of(call).wake_at is None


@covers("R173", "R175")
def test_replicas_share_a_ledger_that_is_not_the_brains(house: House) -> None:
    """R175: one replica takes the command in, another runs it; both houses have own databases."""
    call = house.ask()
    replica = pools.Pool(house.pool.database)

    house.carry_commands()
    replica.run()
    house.pool.run()
    taken = [house.bring(update) for update in (*house.take_updates(), *replica.told)]
    replica.close()

    assert taken == ["applied"] * 4
    assert pools.effects == [call.pk]
    assert fresh(call).state == CallState.COMPLETED
    assert house.pool.database.url.database != connection.settings_dict["NAME"]
