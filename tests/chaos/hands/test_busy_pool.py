"""Controls reach a pool whose slots are all taken and whose queue is long (R178, R185)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import select

from hands_app.contract.wire import encode
from hands_app.ledger.tables import execution
from tests.chaos.field import TIMEOUT, until
from tests.chaos.hands.tools import be_patient
from tests.covers import covers
from tests.integration.hands.examples import cancel, execute

if TYPE_CHECKING:
    from hands_app.contract.messages import Execute
    from hands_app.ledger.engine import Database
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Workers

pytestmark = pytest.mark.timeout(TIMEOUT)
QUEUED: Final = 1000
SLOTS: Final = 4
SOON: Final = 1.0


@covers("R178", "R185")
def test_a_cancel_reaches_a_busy_pool_within_a_second(
    workers: Workers, desk: Desk, ledger: Database
) -> None:
    """Running, admitted and not yet admitted ones of 1,000: all are cancelled in time."""
    (workers.folder / "gate").touch()
    commands = {each.execution_id: each for each in _commands(QUEUED + SLOTS)}
    work = workers.start("once.commands", slots=SLOTS)
    controls = workers.start("once.controls")
    workers.ready([work, controls])
    for command in commands.values():
        _send(desk, command)
    until(lambda: len(_standing(ledger, "STARTED")) == SLOTS and _standing(ledger, "ADMITTED"))
    work.stop(ledger)  # nothing is admitted any more, so that the rest stays in the queue
    admitted = _standing(ledger, "ADMITTED")
    unheard = [name for name in commands if name not in _all(ledger)]
    work.wake()

    running = _standing(ledger, "STARTED")
    waits = [
        _cancelled(desk, ledger, commands[name])
        for name in (*running, *admitted[-3:], *unheard[-3:])
    ]

    assert len(admitted) + len(unheard) == QUEUED
    assert len(waits) >= SLOTS + 3
    assert sorted(waits)[len(waits) // 2] < SOON
    assert work.ended() is None
    for worker in (work, controls):
        worker.kill()


def _commands(count: int) -> list[Execute]:
    return [execute(be_patient.binding) for _ in range(count)]


def _send(desk: Desk, command: Execute) -> None:
    envelope = [encode(command)]
    desk.app.send_task("hands_app.execute", args=envelope, queue="durable.once.commands")


def _cancelled(desk: Desk, ledger: Database, command: Execute) -> float:
    """Cancel an execution, and return the seconds until its ledger says that it is over."""
    began = time.monotonic()
    envelope = [encode(cancel(command))]
    desk.app.send_task("hands_app.control", args=envelope, queue="durable.once.controls")
    until(lambda: command.execution_id in _standing(ledger, "CANCELLED"))
    return time.monotonic() - began


def _standing(ledger: Database, state: str) -> list[str]:
    with ledger.read() as connection:
        found = select(execution.c.execution_id).where(execution.c.state == state)
        return list(connection.execute(found.order_by(execution.c.admitted_at)).scalars())


def _all(ledger: Database) -> set[str]:
    with ledger.read() as connection:
        return set(connection.execute(select(execution.c.execution_id)).scalars())
