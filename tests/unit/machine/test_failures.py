"""The recovery policy.

Persisted with the first failure, counted over the Turn, never reset (R151 to R162).
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions_app.contract.backend import Commit, Fail, HandOver, Park
from sessions_app.machine import failures, settling
from sessions_app.machine.claiming import Owned, Owner, claim
from sessions_app.machine.failures import Policy
from sessions_app.machine.waking import wake_at
from tests.covers import covers, poses
from tests.unit.machine.scene import NOW, at, call, change, invocation, turn

BUSY = Fail(error_class="E", code="HTTP_503", text="busy", retryable=True)
WRONG = Fail(error_class="E", code="HTTP_400", text="no", retryable=False)


@covers("R151")
def test_the_default_policy_is_three_extra_tries_doubling_from_one_second() -> None:
    """Waits are 1, 2 and 4 seconds, capped at 30 (R151, 4.1 row 5)."""
    assert [Policy().delay(number).total_seconds() for number in (1, 2, 3, 6, 99)] == [
        1,
        2,
        4,
        30,
        30,
    ]


@covers("R153", "R154")
def test_the_first_failure_stores_the_policy_in_force() -> None:
    """A host with another configuration later changes nothing (R153, R154)."""
    subject = turn(status="RUNNING")
    failures.record(change(), subject, BUSY, Policy(2, 500, 5000))
    subject.status = "RUNNING"

    failures.record(change(at(10)), subject, BUSY, Policy(9, 9000, 9000))

    assert (subject.policy_retries, subject.policy_first_ms, subject.failures) == (2, 500, 2)
    assert subject.retry_at == at(11)


def test_the_budget_is_used_up_after_four_failures() -> None:
    """Three retries mean four tries in all."""
    subject = turn()
    for number in range(1, 5):
        subject.status = "RUNNING"
        again = failures.record(change(), subject, BUSY, Policy())
        assert again == (number < 4)
    assert subject.failed_for_good


@covers("R054")
def test_pause_has_priority_over_recovery() -> None:
    """A failure while a pause is wanted ends PAUSED; the time of the next try is kept (R054)."""
    rows = invocation()
    rows.turn.status = "PAUSING"

    settling.commit(change(), rows, Commit(change_id="c", end=BUSY))

    assert rows.turn.status == "PAUSED"
    assert rows.turn.retry_at == NOW + timedelta(seconds=1)


@covers("R054")
def test_cancel_skips_backoff() -> None:
    """A failure after a cancel settles at once and ends CANCELLED (R054, I13)."""
    rows = invocation()
    rows.turn.cancel_request = "c1"

    settling.commit(change(), rows, Commit(change_id="c", end=BUSY))

    assert (rows.turn.status, rows.turn.retry_at) == ("CANCELLED", None)


@covers("R162")
@pytest.mark.parametrize("reason", ["drain", "incompatible"])
def test_a_hand_over_charges_nothing(reason: str) -> None:
    """Shutdown and incompatibility leave the failure count alone (R162)."""
    rows = invocation()

    settling.commit(change(), rows, Commit(change_id="c", end=HandOver(reason=reason)))

    assert (rows.turn.failures, rows.turn.deaths, rows.turn.policy_retries) == (0, 0, None)
    assert rows.thread.lease_token is None


@covers("R160")
def test_an_unknown_effect_holds_a_failed_turn() -> None:
    """After a permanent failure an UNKNOWN effect keeps the Turn WAITING (R160)."""
    rows = invocation(calls=[call("UNKNOWN")])

    settling.commit(change(), rows, Commit(change_id="c", end=WRONG))

    assert (rows.turn.status, rows.turn.reason, rows.turn.failed_for_good) == (
        "WAITING",
        "unknown",
        True,
    )


@covers("R161")
@poses("S10")
def test_calls_without_a_start_end_as_not_executed() -> None:
    """A failed Turn's intents that never began are settled, and the Turn ends (R161, S10)."""
    rows = invocation(calls=[call("INTENDED")])

    settling.commit(change(), rows, Commit(change_id="c", end=WRONG))

    assert rows.turn.status == "FAILED"
    assert rows.calls[0].state == "NOT_EXECUTED"


@poses("S9")
def test_a_possibly_sent_call_is_not_closed_in_the_brain_alone() -> None:
    """An external intent counts as possibly sent from its commit on (S9)."""
    rows = invocation(calls=[call("INTENDED", route="hands", deliver_at=NOW)])

    settling.commit(change(), rows, Commit(change_id="c", end=WRONG))

    assert (rows.turn.status, rows.turn.reason) == ("WAITING", "tool")
    assert rows.calls[0].state == "INTENDED"


@covers("R047")
def test_a_turn_that_was_pausing_is_paused_by_the_death_of_its_owner() -> None:
    """No call is active any more, so the pause has taken hold (R047)."""
    rows = invocation()
    rows.turn.status = "PAUSING"
    owned = Owned(rows.session, rows.thread, rows.turn, [], [], rows.run, rows.step)

    begun = claim(change(), owned, Owner("host_2", "2.b", at(30)))

    assert begun is None
    assert (rows.turn.status, rows.thread.lease_token) == ("PAUSED", None)


@covers("R045")
def test_a_cancelled_turn_with_an_open_effect_is_cancelling() -> None:
    """Its effects settle before it ends; nobody looks at it until they have (R045)."""
    rows = invocation(calls=[call("INTENDED", route="hands", deliver_at=NOW)])
    rows.turn.cancel_request = "c1"

    settling.commit(change(), rows, Commit(change_id="c", end=WRONG))

    assert (rows.turn.status, rows.turn.failures) == ("CANCELLING", 0)
    assert wake_at(rows.thread, rows.turn, rows.calls, open_inputs=False, now=NOW) is None


@poses("S2")
def test_a_park_that_waits_for_no_call_is_looked_at_again() -> None:
    """A pause that was taken back between two commits leaves no Turn that nobody wakes (S2)."""
    rows = invocation()

    settling.commit(change(), rows, Commit(change_id="c", end=Park()))

    assert (rows.turn.status, rows.turn.reason) == ("WAITING", "handed-over")
    assert wake_at(rows.thread, rows.turn, [], open_inputs=False, now=NOW) == NOW
