"""When a scanner should look: calls that only the next owner can begin hold nobody up (S2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.machine.waking import wake_at
from sessions_app.models import Thread, ToolCall, Turn
from tests.covers import poses

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=4)


@poses("S24")
@pytest.mark.parametrize(
    "reason", [WaitReason.HANDED_OVER, WaitReason.INCOMPATIBLE, WaitReason.SUSPECT]
)
def test_turn_that_was_given_back_wakes_with_calls_to_run(reason: WaitReason) -> None:
    """S24: a host that drained between an intent and its start leaves the call to the next host."""
    turn = Turn(status=TurnStatus.WAITING, reason=reason)

    woken = wake_at(Thread(), turn, [_local(CallState.INTENDED)], open_inputs=False, now=NOW)

    assert woken == NOW


@poses("S5")
def test_turn_held_after_deaths_wakes_with_a_call_to_repeat() -> None:
    """S5: a Run was buried with a started idempotent call; the next Run repeats it."""
    turn = Turn(status=TurnStatus.RUNNING, held_until=LATER)

    woken = wake_at(Thread(), turn, [_local(CallState.STARTED)], open_inputs=False, now=NOW)

    assert woken == LATER


@poses("S2")
@pytest.mark.parametrize("status", [TurnStatus.WAITING, TurnStatus.CANCELLING])
def test_turn_with_an_execution_outside_waits_for_it(status: TurnStatus) -> None:
    """S2: an open execution wakes nobody before its result, also while a cancel settles."""
    reason = WaitReason.TOOL if status == TurnStatus.WAITING else None
    outside = ToolCall(state=CallState.INTENDED, route="hands", deliver_at=NOW)

    woken = wake_at(
        Thread(), Turn(status=status, reason=reason), [outside], open_inputs=False, now=NOW
    )

    assert woken is None


def _local(state: CallState) -> ToolCall:
    return ToolCall(state=state, route="local", effect="idempotent")
