"""Recovery needs nobody: no observer, no hint, no signal, no record that was not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from hands_app.contract.faults import plan
from sessions_app.contract.backend import Fail
from sessions_app.contract.errors import Unavailable
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.store.backend import StoreBackend
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers
from tests.integration.brain.brains import until
from tests.integration.brain.doubles import Gate, Meddling

if TYPE_CHECKING:
    from sessions_app.contract.backend import Claim, Commit, CommitAnswer, HostIdentity
    from tests.integration.brain.brains import Brains


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have failures wait for a moment only."""
    policy = {"retries": 3, "first_seconds": 0.01, "cap_seconds": 0.05}
    monkeypatch.setattr(settings, "DURABLE", {**settings.DURABLE, "RECOVERY": policy})


@covers("R158")
def test_retries_go_on_with_nobody_connected(brains: Brains, quick: None) -> None:
    """No hint is delivered and nobody reads anything: the scans of the Brain are enough."""
    gate = Gate(TimeoutError(), ConnectionResetError(), TimeoutError()).open()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())

    brains.start()

    assert brains.ended(turn_id).failures == 3
    assert gate.requests == 4


class Unwritten(Meddling):
    """The store, away whenever a failure is to be recorded."""

    def __init__(self) -> None:
        super().__init__("build-1")
        self.refused = 0

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Refuse every failure record."""
        if isinstance(change.end, Fail):
            self.refused += 1
            raise Unavailable
        return super().commit(claim, change)

    def claim(self, host: HostIdentity, **given: Any) -> list[Claim]:
        """Give nothing more, so that a host held for dead does not come back before the next."""
        return [] if self.refused else super().claim(host, **given)


@covers("R163")
def test_a_failure_that_could_not_be_written_did_not_happen(brains: Brains) -> None:
    """Its host loses the lease; the next one goes on from the last valid state, uncharged."""
    box = Toolbox()
    replies = (Reply("", (Call("add", {"a": 1, "b": 2}),)), Reply("done"))
    away = Unwritten()
    brains.backend = lambda _build: away
    gate = Gate().open()
    brains.agent(replies, box.add(), send=gate)
    turn_id = brains.store.submit(brains.store.session())
    with plan({"brain.result.after_commit": "raise"}):
        owner = brains.start(lease=0.5, renew=30.0)
        until(lambda: away.refused > 1)
    brains.store.die(owner.host)
    brains.backend = StoreBackend
    brains.start()

    turn = brains.ended(turn_id)

    assert (turn.failures, turn.policy_retries, turn.takeovers) == (0, None, 1)
    assert box.ran == {"add": 1}
    assert gate.requests == 2
