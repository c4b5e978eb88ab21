"""The ledger: what commands do, in any order and at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.binding import EffectClass
from hands_app.contract.messages import ExecutionState, UpdateKind
from hands_app.machine.admission import Admission, Cancellation
from hands_app.machine.execution import Refusal, failed
from tests.covers import covers, poses
from tests.integration.hands.examples import (
    DONE,
    Ledger,
    binding,
    cancel,
    execute,
    query,
)

if TYPE_CHECKING:
    from hands_app.contract.messages import Execute

BROKE = failed("EXCEPTION", "it broke")


@covers("R188")
def test_a_call_is_admitted_started_and_finished_once(ledger: Ledger) -> None:
    """R188, I30: three updates in an unbroken sequence, each told once."""
    command = execute()
    claim = ledger.started(command)

    ledger.work.finish(claim, DONE)

    told = ledger.updates(command)
    assert [update.sequence for update in told] == [1, 2, 3]
    assert ledger.kinds(command) == ["admitted", "started", "result"]
    assert told[-1].result() == DONE
    assert {update.request_digest for update in told} == {command.request_digest}


@covers("R184")
def test_a_command_delivered_twice_is_one_execution(ledger: Ledger) -> None:
    """R184: a duplicate is told what is known and starts nothing."""
    command = execute()
    ledger.admit(command)

    again = ledger.commands.admit(command, runnable=True)

    assert again.outcome is Admission.SAME
    assert [update.kind for update in again.updates] == [UpdateKind.ADMITTED]
    assert len(ledger.claim(command)) == 1
    assert ledger.claim(command) == []


def test_commands_that_arrive_at_once_are_one_execution(ledger: Ledger) -> None:
    """I26: eight deliveries at the same moment admit one execution."""
    command = execute()
    start = threading.Barrier(8)

    def deliver(_: int) -> Admission:
        start.wait(10)
        return ledger.admit(command)

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(deliver, range(8)))

    assert sorted(outcomes) == ["new"] + ["same"] * 7
    assert ledger.kinds(command) == ["admitted"]


@poses("T21")
def test_changed_content_under_a_known_identity_is_refused(ledger: Ledger) -> None:
    """T21: nothing is told, nothing changes."""
    command = execute()
    ledger.admit(command)
    other = execute(arguments={"to": "somebody else"}, execution_id=command.execution_id)

    refused = ledger.commands.admit(other, runnable=True)

    assert refused.outcome is Admission.CONFLICT
    assert refused.updates == ()
    assert ledger.kinds(command) == ["admitted"]


@covers("R185")
@poses("S9")
def test_a_cancel_first_leaves_a_tombstone(ledger: Ledger) -> None:
    """R185, I29: the later command runs nothing, and both get the same result."""
    command = execute()

    first = ledger.commands.cancel(cancel(command))
    later = ledger.commands.admit(command, runnable=True)

    assert (first.outcome, later.outcome) == (Cancellation.TOMBSTONED, Admission.TOMBSTONED)
    assert ledger.claim(command) == []
    assert first.updates == later.updates
    assert first.updates[0].result().state is ExecutionState.CANCELLED


def test_a_cancel_after_the_claim_stops_the_start(ledger: Ledger) -> None:
    """I29: the owner learns at its start record that there is nothing to do."""
    command = execute()
    ledger.admit(command)
    (claim,) = ledger.claim(command)

    ledger.commands.cancel(cancel(command))

    assert ledger.work.start(claim).outcome is Refusal.CANCELLED
    assert ledger.kinds(command) == ["admitted", "result"]


def test_a_cancel_after_the_start_reaches_the_owner_as_a_wish(ledger: Ledger) -> None:
    """Requested, accepted and confirmed are three facts."""
    command = execute()
    claim = ledger.started(command)

    found = ledger.commands.cancel(cancel(command))

    assert found.outcome is Cancellation.REQUESTED
    assert ledger.work.cancel_wishes([claim.token, "other"]) == {claim.token}
    assert ledger.kinds(command)[-1] == "progress"
    assert ledger.state(command) == "STARTED"


def test_cancel_and_start_at_once_have_one_order(ledger: Ledger) -> None:
    """I29: either the cancel came first and nothing starts, or the start did."""
    for _ in range(10):
        command = execute()
        ledger.admit(command)
        (claim,) = ledger.claim(command)
        with ThreadPoolExecutor(2) as pool:
            starting = pool.submit(ledger.work.start, claim)
            found = pool.submit(ledger.commands.cancel, cancel(command)).result().outcome
            started = not isinstance(starting.result().outcome, Refusal)

        assert started == (found is Cancellation.REQUESTED)
        assert ("started" in ledger.kinds(command)) == started


@covers("R186", "R189")
def test_a_query_repeats_and_changes_nothing(ledger: Ledger) -> None:
    """R186, R189: what follows the prefix, at least the last; a stranger is told so."""
    command = execute()
    ledger.started(command)

    assert [update.sequence for update in ledger.commands.query(query(command))] == [1, 2]
    assert [update.sequence for update in ledger.commands.query(query(command, 1))] == [2]
    assert [update.sequence for update in ledger.commands.query(query(command, 99))] == [2]
    (stranger,) = ledger.commands.query(query(execute()))
    assert (stranger.kind, stranger.sequence) == (UpdateKind.UNKNOWN_EXECUTION, 0)


def _begun(ledger: Ledger, effect: EffectClass) -> Execute:
    """An execution whose only attempt broke and that would be started again."""
    command = execute(binding(effect))
    ledger.work.unconfirmed(ledger.started(command), BROKE)
    return command


@covers("R185")
def test_a_cancel_between_two_starts_lets_none_follow(ledger: Ledger) -> None:
    """I29: what could be repeated safely is not repeated; its effect may stand, and it says so."""
    command = _begun(ledger, EffectClass.IDEMPOTENT)

    found = ledger.commands.cancel(cancel(command))

    assert found.outcome is Cancellation.ABANDONED
    ended = found.updates[0].result()
    assert ended.state is ExecutionState.FAILED
    assert ended.error is not None
    assert ended.error.code == "ABANDONED"
    ledger.clock.ahead += timedelta(hours=1)
    assert ledger.claim(command) == []


@covers("R185")
@pytest.mark.parametrize("how", ["it broke", "its worker died"])
def test_a_cancelled_attempt_is_the_last_one(ledger: Ledger, how: str) -> None:
    """I29: the wish came while it ran; however that ends, it is not begun again."""
    command = execute(binding(EffectClass.IDEMPOTENT))
    claim = ledger.started(command)
    ledger.commands.cancel(cancel(command))

    if how == "it broke":
        ledger.work.unconfirmed(claim, BROKE)
    else:
        ledger.hosts.mark_lost([ledger.host_id])
        ledger.settle_orphans()

    assert ledger.state(command) == "FAILED"
    assert ledger.kinds(command).count("started") == 1
