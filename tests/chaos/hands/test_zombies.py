"""Workers that are stopped past their lease and wake up when others own their work (law 4, I28)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from sqlalchemy import select

from hands_app.ledger.tables import execution
from sessions_app.contract.status import CallState
from sessions_app.models import Turn
from tests.chaos.field import TIMEOUT, until
from tests.chaos.hands.ledger import breaches
from tests.chaos.hands.tools import effects, order_slowly, put_slowly, send, send_slowly
from tests.covers import poses

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from sessions_app.models import ToolCall
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Workers

pytestmark = pytest.mark.timeout(TIMEOUT)
SHORT_LEASE: Final = {"DURABLE_LEASE_SECONDS": "2", "DURABLE_RENEW_SECONDS": "0.5"}
ALL: Final = ("once.commands", "idempotent.commands", "queryable.commands", "once.controls")


def _row(ledger: Database, call: ToolCall) -> dict[str, Any]:
    """All that the ledger holds of a call's execution."""
    with ledger.read() as connection:
        found = select(execution).where(execution.c.execution_id == call.pk)
        return dict(connection.execute(found).mappings().one())


@poses("C49", "S4")
def test_c49_a_zombie_changes_nothing_that_others_took_over(
    workers: Workers, desk: Desk, ledger: Database, oracle: Path
) -> None:
    """Idempotent runs again, queryable is looked up, once is UNKNOWN till it speaks (C49, S4)."""
    gate = workers.folder / "gate"
    gate.touch()
    zombie = workers.start(*ALL, env=SHORT_LEASE)
    workers.ready([zombie])
    put, order, sent = (desk.ask(each) for each in (put_slowly, order_slowly, send_slowly))
    desk.until(lambda: len(effects(oracle)) == 3, "three effects")
    zombie.stop(ledger)
    gate.unlink()

    workers.start(*ALL, env=SHORT_LEASE)
    ends = {put: CallState.COMPLETED, order: CallState.COMPLETED, sent: CallState.UNKNOWN}
    desk.until(lambda: {call: desk.state(call) for call in ends} == ends, "the others' decisions")
    before = [_row(ledger, call) for call in (put, order)]
    zombie.wake()
    until(lambda: zombie.said().count(": lost") >= 2)
    desk.until(lambda: desk.state(sent) == CallState.COMPLETED, "the zombie's own outcome")

    assert [_row(ledger, call) for call in (put, order)] == before
    assert sorted(map(effects(oracle).count, (put.pk, order.pk, sent.pk))) == [1, 1, 2]
    assert effects(oracle).count(put.pk) == 2
    until(lambda: not breaches(ledger))
    for call in ends:
        assert desk.go_on(call).finished_at is not None
    desk.verdict(oracle)


@poses("S10")
def test_s10_a_claim_that_slept_past_its_lease_starts_nothing(
    workers: Workers, desk: Desk, ledger: Database, oracle: Path
) -> None:
    """Stopped between claim and start record: another runs the call, the sleeper nothing (S10)."""
    go = workers.folder / "go"
    hang = {"hands.claim.after_commit": f"hang:{go}"}
    sleeper = workers.start(*ALL, faults=hang, env=SHORT_LEASE)
    workers.ready([sleeper])
    call = desk.ask(send)
    desk.until(lambda: "CLAIMED" in _states(ledger), "the claim")
    sleeper.stop(ledger)

    workers.start(*ALL, env=SHORT_LEASE)
    desk.until(lambda: desk.state(call) == CallState.COMPLETED, "the other's result")
    before = _row(ledger, call)
    go.touch()
    sleeper.wake()
    until(lambda: f"{call.pk}: lost" in sleeper.said())

    assert _row(ledger, call) == before
    assert (before["attempt"], effects(oracle)) == (1, [call.pk])
    assert Turn.objects.get(pk=call.turn_id).pk == desk.go_on(call).pk
    desk.verdict(oracle)


def _states(ledger: Database) -> list[str]:
    with ledger.read() as connection:
        return list(connection.execute(select(execution.c.state)).scalars())
