"""What nobody can verify is UNKNOWN: never guessed, never commanded again (law 7, S8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.messages import ExecutionResult, ExecutionState, Query, parse_control
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.store import clock
from sessions_app.store.invariants import check
from tests.covers import poses
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import (
    SOON,
    House,
    audited,
    fresh,
    intent,
    thread_of,
    told,
    turn_of,
)

if TYPE_CHECKING:
    from hands_app.worker.ports import Claim
    from sessions_app.models import ToolCall

DONE = ExecutionResult(state=ExecutionState.COMPLETED, content={"sent": "hello"})


def _in_doubt(house: House) -> tuple[ToolCall, Claim]:
    """A `once` call whose worker died after the start."""
    call = house.ask()
    house.carry_commands()
    claim = house.pool.start()
    house.pool.die(claim)
    house.carry_updates()
    return call, claim


def test_a_started_once_call_whose_worker_died_is_unknown(house: House) -> None:
    """Its Turn waits with that reason and nobody is woken; time alone changes nothing (I28)."""
    call, _ = _in_doubt(house)

    turn, doubtful = turn_of(call), fresh(call)
    assert doubtful.state == CallState.UNKNOWN
    assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN)
    assert thread_of(call).wake_at is None
    assert told(call) == ["tool.requested", "tool.started", "tool.unknown"]
    assert doubtful.deliver_at is not None
    assert [str(breach) for breach in check(quiet=True).breaches] == []


@poses("S20")
def test_an_unknown_call_is_asked_about_and_never_commanded(house: House) -> None:
    """It stays in the outbox, at growing distance, and what leaves are questions (S20)."""
    call, _ = _in_doubt(house)

    with clock.offset(SOON):
        house.dispatch.due()

    (letter,) = house.post.take()
    question = parse_control(letter.text)
    assert letter.control
    assert isinstance(question, Query)
    assert (question.execution_id, question.after) == (call.pk, 3)


def test_the_real_outcome_resolves_unknown(house: House) -> None:
    """What the worker that was held for dead observed is evidence of its own attempt."""
    call, claim = _in_doubt(house)

    house.pool.finish(claim, DONE)
    house.carry_updates()

    ended = fresh(call)
    assert (ended.state, ended.error_code) == (CallState.COMPLETED, None)
    assert ended.result == {"content": {"sent": "hello"}, "errorText": None}
    assert told(call)[-1] == "tool.result"
    assert house.go_on(call).turn_id == call.turn_id


def test_unknown_holds_the_turn_though_a_sibling_ended(house: House) -> None:
    """The result of another call neither wakes the Turn nor hides the doubt."""
    first, second = house.asks(intent(), intent(call_id="call-2", ordinal=1))
    house.carry_commands()
    claims = {claim.execution_id: claim for claim in house.pool.claim()}
    for claim in claims.values():
        house.pool.told.extend(house.pool.work.start(claim).updates)
    house.pool.die(claims[first.pk])

    house.pool.finish(claims[second.pk], DONE)
    house.carry_updates()

    assert fresh(second).state == CallState.COMPLETED
    assert turn_of(first).reason == WaitReason.UNKNOWN
    assert thread_of(first).wake_at is None


def test_a_turn_says_tool_again_once_its_doubt_is_resolved(house: House) -> None:
    """While a sibling is still under way the reason goes back from unknown to tool."""
    first, second = house.asks(intent(), intent(call_id="call-2", ordinal=1))
    house.carry_commands()
    claims = {claim.execution_id: claim for claim in house.pool.claim()}
    for claim in claims.values():
        house.pool.told.extend(house.pool.work.start(claim).updates)
    house.pool.die(claims[first.pk])
    house.carry_updates()
    doubtful = turn_of(first).reason

    house.pool.finish(claims[first.pk], DONE)
    house.carry_updates()

    assert doubtful == WaitReason.UNKNOWN
    assert turn_of(first).reason == WaitReason.TOOL
    assert fresh(second).state == CallState.STARTED


@poses("S8")
def test_an_admitted_call_that_its_ledger_lost_is_unknown(house: House) -> None:
    """It may have run: it is asked about, the ledger knows nothing, and it is never sent again."""
    call = house.admitted()
    house.pool.forget()

    with clock.offset(SOON):
        house.carry_commands()
        house.carry_updates()
    with clock.offset(SOON * 100):
        house.dispatch.due()

    assert fresh(call).state == CallState.UNKNOWN
    assert turn_of(call).reason == WaitReason.UNKNOWN
    assert all(letter.control for letter in house.post.take())
    assert pools.effects == []


@poses("S8")
def test_a_ledger_that_never_had_the_call_makes_no_doubt(house: House) -> None:
    """Before its admission an answer "unknown" tells nothing: the command is sent again."""
    call = house.ask()
    (_,) = house.carry_commands()
    house.take_updates()
    house.pool.forget()
    question = house.intake._commands.query(call.pk, call.route, call.request_digest, 0)

    house.pool.obey(question, control=True)
    taken = house.carry_updates()
    with clock.offset(SOON):
        again = house.carry_commands()

    assert taken == ["duplicate"]
    assert fresh(call).state == CallState.INTENDED
    assert again == ["new"]


@poses("S8")
def test_a_ledger_that_went_back_leaves_the_call_unknown(house: House) -> None:
    """A result in a place where something else was told shows that the ledger was restored."""
    call = house.ask()
    house.carry_commands()
    claim = house.pool.start()
    house.pool.progress(claim, {"message": "half"})
    house.carry_updates()
    house.pool.finish(claim, DONE)
    (result,) = house.take_updates()

    taken = house.bring(result.model_copy(update={"sequence": 2}))

    assert taken == "applied"
    assert fresh(call).state == CallState.UNKNOWN
    assert fresh(call).inbox_position == 3


@poses("S8")
def test_a_settled_call_never_becomes_unknown(house: House) -> None:
    """A ledger that forgets what it reported changes nothing of what was reported."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    house.carry_updates()
    house.pool.forget()
    question = house.intake._commands.query(call.pk, call.route, call.request_digest, 4)

    house.pool.obey(question, control=True)
    taken = house.carry_updates()

    assert taken == ["duplicate"]
    assert fresh(call).state == CallState.COMPLETED
    assert audited(call) == []
