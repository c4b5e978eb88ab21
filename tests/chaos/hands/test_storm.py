"""Turns of a real Brain whose external calls lose their worker at every place (C45, C48, law 7)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import ToolCall, Turn
from tests.chaos.field import TIMEOUT, until
from tests.chaos.hands.deaths import FINISHED, PLACES
from tests.chaos.hands.ledger import breaches
from tests.chaos.hands.tools import HALFWAY
from tests.covers import poses

if TYPE_CHECKING:
    from hands_app.ledger.engine import Database
    from tests.chaos.field import Field
    from tests.chaos.hands.workers import Worker, Workers

pytestmark = pytest.mark.timeout(TIMEOUT)
QUEUES: Final = ("hands.commands", "hands.controls")
POINTS: Final = [place.point for place in PLACES.values() if place.point != HALFWAY]
TURNS: Final = 6
QUICKLY: Final = {"DURABLE_HANDS_RETRY_SECONDS": "0.5"}


@poses("C45", "C48")
def test_c45_every_turn_ends_or_waits_for_evidence_whoever_died(
    crowd: Field, workers: Workers, ledger: Database
) -> None:
    """No worker lives but one: each call had its effect, and `once` never twice (C45, I27, I41)."""
    crowd.brain(**QUICKLY)
    crowd.intake()
    env = {
        "DURABLE_HANDS_TOOLS": "tests.chaos.crew.tools",
        "DURABLE_DEMO_ORACLE": crowd.farm.site.environment["DURABLE_DEMO_ORACLE"],
    }
    doomed = [
        workers.start(*QUEUES, faults={point: "kill"}, only_after=_after(point), slots=1, env=env)
        for point in POINTS
    ]
    survivors = [workers.start(*QUEUES, slots=1, env=env)]
    count = 0

    def all_died() -> bool:
        nonlocal count
        if count == 0 or _settled(count):
            names = [f"chat-{number}" for number in range(count, count + TURNS)]
            crowd.submit([(name, "keep errand say") for name in names])
            count += TURNS
        return all(worker.ended() is not None for worker in doomed)

    until(all_died)
    until(lambda: _settled(count))

    assert [worker.status for worker in doomed] == [-signal.SIGKILL] * len(POINTS)
    assert _living(survivors)
    in_doubt = ToolCall.objects.filter(state=CallState.UNKNOWN)
    assert {call.name for call in in_doubt} <= {"errand"}
    assert in_doubt.count() <= len(POINTS)
    assert not Turn.objects.exclude(status=TurnStatus.COMPLETED).exclude(reason=WaitReason.UNKNOWN)
    effects = crowd.effects()
    for call in ToolCall.objects.exclude(state=CallState.UNKNOWN):
        assert call.state == CallState.COMPLETED
        assert effects[call.pk] == 1 or call.name == "keep", call.pk
    until(lambda: not breaches(ledger))
    crowd.verdict()


def _after(point: str) -> str | None:
    return FINISHED if point.startswith("hands.publish") else None


def _settled(count: int) -> bool:
    """Whether so many Turns have ended, or wait for evidence alone."""
    ended = Turn.objects.filter(finished_at__isnull=False).count()
    return ended + Turn.objects.filter(reason=WaitReason.UNKNOWN).count() == count


def _living(workers: list[Worker]) -> bool:
    return all(worker.ended() is None for worker in workers)
