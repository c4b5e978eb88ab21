"""A Turn that failed for good ends when its effects have; nothing is invoked again (R159)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.contract.messages import ExecutionResult, ExecutionState
from sessions_app.contract.backend import Fail
from sessions_app.contract.status import CallState, CheckpointKind, TurnStatus, WaitReason
from sessions_app.models import Checkpoint, ModelCall, ToolCall
from sessions_app.store.invariants import check
from tests.covers import covers
from tests.integration.tooling.house import House, fresh, intent, thread_of, turn_of
from tests.stores import FRAME

if TYPE_CHECKING:
    from hands_app.worker.ports import Claim

DONE = ExecutionResult(state=ExecutionState.COMPLETED, content={"sent": "hello"})
REFUSED = Fail(error_class="ProviderError", code="HTTP_400", text="no", retryable=False)
SETTLED = Fail(
    error_class="Interrupted", code="SETTLED", text="settled", retryable=False, settled=FRAME
)


def failing(house: House) -> tuple[ToolCall, Claim]:
    """A Turn whose provider refused it for good while its call runs in the pool."""
    claimed = house.claimed()
    house.store.answered(claimed, intent())
    call = ToolCall.objects.get(turn=claimed.turn_id)
    house.carry_commands()
    running = house.pool.start()
    house.carry_updates()
    house.store.commit(claimed, REFUSED)
    return call, running


@covers("R159", "R161")
def test_a_running_effect_holds_the_turn_and_its_result_settles_it(house: House) -> None:
    """WAITING for the tool; then one commit ends it with the result applied and a clean frame."""
    call, running = failing(house)
    held = turn_of(call)

    house.pool.finish(running, DONE)
    house.carry_updates()
    settling = house.go_on(call)
    house.store.commit(settling, SETTLED)

    turn = turn_of(call)
    assert (held.status, held.reason) == (TurnStatus.WAITING, WaitReason.TOOL)
    assert settling.settling
    assert (turn.status, turn.failures, turn.error_code) == (TurnStatus.FAILED, 1, "HTTP_400")
    assert fresh(call).state == CallState.COMPLETED
    assert fresh(call).applied_at == turn.finished_at
    assert Checkpoint.objects.latest("ordinal").kind == CheckpointKind.SETTLED
    assert Checkpoint.objects.latest("ordinal").at == turn.finished_at
    assert ModelCall.objects.filter(turn=turn).count() == 1
    assert thread_of(call).wake_at is None
    assert [str(breach) for breach in check(quiet=True).breaches] == []


@covers("R161")
def test_a_result_that_comes_behind_the_clean_up_is_cleaned_up_again(house: House) -> None:
    """The clean-up saw the call running: it would tell the next Turn that nobody knows."""
    claimed = house.claimed()
    house.store.answered(claimed, intent())
    call = ToolCall.objects.get(turn=claimed.turn_id)
    house.carry_commands()
    running = house.pool.start()
    house.pool.finish(running, DONE)
    house.carry_updates()  # between the clean-up and its commit

    seen = {call.pk: CallState.STARTED}
    house.store.commit(claimed, SETTLED.model_copy(update={"shown": seen}))
    unsettled = turn_of(call)
    again = {call.pk: CallState.COMPLETED}
    house.store.commit(house.go_on(call), SETTLED.model_copy(update={"shown": again}))

    assert not unsettled.is_terminal
    assert thread_of(call).checkpoint_position == thread_of(call).journal_position
    assert turn_of(call).status == TurnStatus.FAILED
    assert fresh(call).applied_at == turn_of(call).finished_at
    assert [str(breach) for breach in check(quiet=True).breaches] == []


@covers("R160")
def test_an_unknown_effect_holds_the_turn_until_there_is_evidence(house: House) -> None:
    """Nobody is woken meanwhile; the observation of the original execution ends the wait."""
    call, running = failing(house)
    house.pool.die(running)
    house.carry_updates()
    held = turn_of(call)
    assert (held.status, held.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN)
    assert thread_of(call).wake_at is None
    with pytest.raises(ValueError, match="not enough values"):
        house.go_on(call)

    house.pool.finish(running, DONE)
    house.carry_updates()
    house.store.commit(house.go_on(call), SETTLED)

    assert turn_of(call).status == TurnStatus.FAILED
    assert fresh(call).state == CallState.COMPLETED
