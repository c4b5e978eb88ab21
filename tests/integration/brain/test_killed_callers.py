"""Callers that are killed in the midst of a control leave no lock and no half of it (C30)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.identity import SessionKey
from sessions_app.models import AuditEntry, Command, Turn
from sessions_app.store import controls
from tests.covers import poses

if TYPE_CHECKING:
    from tests.integration.brain.farm import Farm

THREAD = SessionKey("acme", "chat").thread()


@poses("C30")
@pytest.mark.parametrize(("point", "written"), [("before_commit", 0), ("after_commit", 1)])
def test_a_killed_caller_leaves_all_or_nothing(farm: Farm, point: str, written: int) -> None:
    """The next caller with the same request id is answered at once, and there is one cancel."""
    turn_id = farm.store.submit(farm.store.session())
    caller = farm.site.start(
        ("manage.py", "durable", "cancel", turn_id, "--request-id", "c1", "--actor", "dana"),
        env={"DURABLE_FAULTS": f"turn.control.{point}=kill"},
    )
    assert caller.wait(30) != 0, farm.site.log(caller)
    assert Command.objects.filter(request_id="c1").count() == written

    receipt = controls.cancel(THREAD, turn_id, "c1", "dana")

    assert receipt.outcome == "cancelled"
    assert Turn.objects.get().status == "CANCELLED"
    assert Command.objects.filter(request_id="c1").count() == AuditEntry.objects.count() == 1
