"""A hint that comes again finds a live lease and does nothing (C1)."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.status import TurnStatus
from sessions_app.models import Event, Run, Turn
from tests.chaos.field import TIMEOUT, until
from tests.chaos.letters import Letter, call, post
from tests.covers import poses

if TYPE_CHECKING:
    import subprocess

    from tests.chaos.field import Field

pytestmark = pytest.mark.timeout(TIMEOUT)

COPIES: Final = 30
SOON: Final = 0.1
TOO_LONG: Final = 2.0  # on a machine that is busy with something else
_DONE: Final = re.compile(r"Task sessions_app\.advance\[\S+\] succeeded in ([\d.e-]+)s")


@poses("C1")
def test_c1_thirty_redelivered_hints_return_at_once_and_start_nothing(crowd: Field) -> None:
    """While the Turn runs every copy returns in under 100 ms; one Run, one effect (C1, I5)."""
    brain = crowd.brain()
    crowd.is_ready(brain)
    crowd.hold()
    crowd.submit([("chat", "once hold")])
    crowd.holds()
    turn = Turn.objects.get()

    for _ in range(COPIES):
        _ring(crowd, brain, turn.thread_id)

    took = _durations(crowd, brain)
    assert median(took) < SOON, took
    assert max(took) < TOO_LONG, took
    assert Turn.objects.get().status == TurnStatus.RUNNING
    crowd.let_go()
    crowd.all_end(1)
    assert Run.objects.count() == 1
    moves = Event.objects.filter(type="turn.status").values_list("payload", flat=True)
    assert [move["to"] for move in moves].count("COMPLETED") == 1
    crowd.each_effect_once(["once"])
    crowd.verdict()


def _ring(crowd: Field, brain: subprocess.Popen[bytes], thread: str) -> None:
    """Put one copy into the queue and wait until it has been worked on."""
    before = len(_durations(crowd, brain))
    post(crowd.broker.environment["REDIS_URL"], crowd.folder, iter([Letter(call(thread))]))
    until(lambda: len(_durations(crowd, brain)) > before)


def _durations(crowd: Field, brain: subprocess.Popen[bytes]) -> list[float]:
    return [float(found) for found in _DONE.findall(crowd.log(brain))]
