"""A deploy: workers told to end, then killed, one after the other, under load (C11)."""

from __future__ import annotations

import signal
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import ToolCall, Turn
from tests.chaos.field import TIMEOUT, until
from tests.covers import poses

if TYPE_CHECKING:
    import subprocess

    from tests.chaos.field import Field

pytestmark = pytest.mark.timeout(TIMEOUT)

TURNS: Final = 20
DRAIN: Final = "2"
GRACE: Final = 5.0


@poses("C11")
def test_c11_a_rolling_restart_charges_nothing_and_repeats_nothing(crowd: Field) -> None:
    """SIGTERM, a short drain, SIGKILL: only the `once` tool in flight is UNKNOWN (C11, I9, I27)."""
    crowd.hold()
    crowd.hold("slow")
    living = [_brain(crowd)]
    crowd.submit([("cut", "slow")])
    until(crowd.effects)
    living.append(_brain(crowd))
    crowd.submit([(f"chat-{n}", "once hold" if n % 4 == 0 else "once once") for n in range(TURNS)])
    crowd.holds()

    for _ in range(2):
        living.append(_brain(crowd))
        _end(crowd, living.pop(0))
    crowd.let_go()

    crowd.all_end(TURNS)
    turns = Turn.objects.all()
    completed = {turn.status for turn in turns if turn.session.session_id != "cut"}
    assert completed == {TurnStatus.COMPLETED}
    assert sum(turn.failures for turn in turns) == 0
    (cut,) = ToolCall.objects.exclude(state=CallState.COMPLETED)
    until(lambda: Turn.objects.get(pk=cut.turn_id).reason == WaitReason.UNKNOWN)
    assert cut.name == "slow"
    assert cut.started_at is not None
    crowd.each_effect_once(["once", "slow"])
    crowd.verdict()


def _brain(crowd: Field) -> subprocess.Popen[bytes]:
    return crowd.brain(DURABLE_DRAIN_SECONDS=DRAIN)


def _end(crowd: Field, old: subprocess.Popen[bytes]) -> None:
    """As a deploy does: a word, a grace time, and no mercy."""
    old.send_signal(signal.SIGTERM)
    try:
        old.wait(GRACE)
    except TimeoutExpired:
        crowd.farm.site.kill(old)
