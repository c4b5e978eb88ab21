"""Children of a prefork pool that die, and workers that are told to end (S22, S24)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import psutil
import pytest

from sessions_app.contract.status import CallState
from tests.chaos.field import TIMEOUT, until
from tests.chaos.hands.ledger import breaches
from tests.chaos.hands.tools import effects, put, send, send_slowly
from tests.covers import poses

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from sessions_app.models import ToolCall
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Workers

pytestmark = pytest.mark.timeout(TIMEOUT)
ALL: Final = ("once.commands", "idempotent.commands")


def _completed(desk: Desk, *calls: ToolCall) -> None:
    desk.until(
        lambda: {desk.state(call) for call in calls} == {CallState.COMPLETED}, "every result"
    )


@poses("S22")
@pytest.mark.postgresql
def test_s22_the_death_of_a_pool_s_child_is_seen_at_once(
    workers: Workers, desk: Desk, ledger: Database, oracle: Path
) -> None:
    """Neither its parent nor its sibling keeps its lock: what it ran is run again (S22, S4).

    Over the folder broker the children of a pool share one pipe, and whoever is killed while it
    reads takes its lock along: the others then get no more messages (docs/howto/farm.md).
    """
    kill = {"hands.effect.after_done": f"kill-once:{workers.folder}/killed"}
    worker = workers.start(*ALL, faults=kill, pool="prefork", slots=2)
    workers.ready([worker])

    call = desk.ask(put)
    _completed(desk, call)
    later = [desk.ask(send) for _ in range(4)]
    _completed(desk, *later)

    assert (workers.folder / "killed").exists()
    assert worker.ended() is None
    assert effects(oracle).count(call.pk) == 2
    until(lambda: len(psutil.Process(worker.pid).children()) == 2)
    until(lambda: not breaches(ledger))
    desk.verdict(oracle)


@poses("S24")
def test_s24_a_worker_told_to_end_records_what_it_runs_and_takes_nothing(
    workers: Workers, desk: Desk, ledger: Database, oracle: Path
) -> None:
    """While it drains others claim what is new, and nobody takes over what still runs (S24)."""
    gate = workers.folder / "gate"
    gate.touch()
    env = {"DURABLE_DRAIN_SECONDS": "60"}
    leaving = workers.start("once.commands", env=env)
    workers.ready([leaving])
    running = desk.ask(send_slowly)
    desk.until(lambda: effects(oracle), "an effect")
    staying = workers.start("once.commands")
    workers.ready([staying])

    leaving.signal(signal.SIGTERM)
    until(lambda: "raining" in leaving.said() or "shutdown" in leaving.said())
    new = [desk.ask(send) for _ in range(6)]
    _completed(desk, *new)
    still = (leaving.ended(), desk.state(running))
    gate.unlink()
    _completed(desk, running)

    assert still == (None, CallState.STARTED)
    assert leaving.wait() == 0
    assert sorted(effects(oracle)) == sorted(call.pk for call in (running, *new))
    until(lambda: not breaches(ledger))
    desk.verdict(oracle)
