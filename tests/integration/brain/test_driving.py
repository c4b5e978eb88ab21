"""A claimed Turn is driven to its end on the real store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import ModelCall, Run, StoreState
from sessions_app.store import hosts
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers
from tests.integration.brain.brains import until

if TYPE_CHECKING:
    from tests.integration.brain.brains import Brains


def test_a_turn_completes(brains: Brains) -> None:
    """A submitted Turn is found without any hint, answered once and completed in one Run."""
    turn_id = brains.store.submit(brains.store.session())

    brains.start()

    turn = brains.ended(turn_id)
    assert turn.result is not None
    assert Run.objects.filter(turn=turn_id).count() == 1
    assert ModelCall.objects.filter(turn=turn_id).count() == 1


def test_a_turn_with_local_tools_completes(brains: Brains) -> None:
    """Local tools run once and their results reach the model."""
    box = Toolbox()
    first = Reply("adding", (Call("add", {"a": 1, "b": 2}), Call("once", {})))
    brains.agent((first, Reply("done")), box.add(), box.once())
    turn_id = brains.store.submit(brains.store.session())

    brains.start()

    brains.ended(turn_id)
    assert box.ran == {"add": 1, "once": 1}


@covers("R257")
def test_a_host_told_to_drain_claims_nothing_more(brains: Brains) -> None:
    """An operator's wish on the Host row is enough; another Brain gets the next Turn (R257)."""
    told = brains.start()
    hosts.draining(told.host.host_id)
    until(lambda: told._scheduler.drains)
    turn_id = brains.store.submit(brains.store.session())

    other = brains.start()

    brains.ended(turn_id)
    assert Run.objects.get(turn=turn_id).host == other.host.host_id


def test_a_scan_of_beat_is_recorded_and_looks(brains: Brains) -> None:
    """It is noted once, and ready work is claimed without waiting for the process's own look."""
    process = brains.start(scan=60.0)
    StoreState.objects.update(scanned_at=None)
    turn_id = brains.store.submit(brains.store.session())

    process.scan()

    brains.ended(turn_id)
    assert StoreState.objects.get().scanned_at is not None
