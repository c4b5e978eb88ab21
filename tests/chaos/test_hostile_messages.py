"""Whoever writes to the broker can at most cause a scan (C77, T37)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.status import TurnStatus
from sessions_app.models import Turn
from tests.chaos.field import PATIENCE, TIMEOUT, until
from tests.chaos.letters import Letter, call, hostile, post
from tests.covers import poses

if TYPE_CHECKING:
    from tests.chaos.field import Field

pytestmark = pytest.mark.timeout(TIMEOUT)


@poses("T37", "C77")
def test_c77_messages_run_no_code_and_stop_no_worker(crowd: Field) -> None:
    """Pickle, yaml, crafted, huge, unknown and flooding messages: the next hint works (T37)."""
    brain = crowd.brain(DURABLE_SCAN_SECONDS="60")
    crowd.is_ready(brain)
    bomb = crowd.folder / "bomb"
    redis_url = crowd.broker.environment["REDIS_URL"]

    sent = post(redis_url, crowd.folder, hostile(bomb))
    last = Letter(call(), task="the.last.of.them")
    post(redis_url, crowd.folder, iter([last]))

    assert sent > 500
    until(lambda: "the.last.of.them" in crowd.log(brain) or brain.poll() is not None, PATIENCE)
    assert brain.poll() is None, crowd.log(brain)[-4000:]
    crowd.submit([("chat", "note say")])
    crowd.all_end(1)
    assert Turn.objects.get().status == TurnStatus.COMPLETED
    assert not bomb.exists()
    assert crowd.farm.stop(brain, PATIENCE) == 0, crowd.log(brain)[-4000:]
    crowd.verdict()
