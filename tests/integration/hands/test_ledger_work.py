"""The ledger: what owners do, and what sweeps do when owners are gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select

from hands_app.contract.binding import EffectClass
from hands_app.contract.errors import OwnershipLost
from hands_app.contract.faults import plan
from hands_app.contract.messages import UpdateKind
from hands_app.ledger.tables import execution
from hands_app.machine.admission import Admission
from hands_app.machine.execution import Execution, Refusal, State, failed
from tests.covers import poses
from tests.integration.hands.examples import (
    DONE,
    Ledger,
    binding,
    execute,
)

BROKE = failed("EXCEPTION", "it broke")


def test_each_execution_has_one_owner(ledger: Ledger) -> None:
    """Law 4: hosts that claim at once share the work and never a piece of it."""
    commands = [execute() for _ in range(20)]
    for command in commands:
        ledger.admit(command)
    hosts = [ledger.enroll() for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        batches = pool.map(lambda host: ledger.claim(*commands, host_id=host), hosts)
    claims = [claim.execution_id for batch in batches for claim in batch]
    claims += [claim.execution_id for claim in ledger.claim(*commands)]

    assert sorted(claims) == sorted(command.execution_id for command in commands)


@poses("C47")
def test_a_host_claims_only_the_tools_it_knows(ledger: Ledger) -> None:
    """C47: one host's backlog neither hides nor loses another's."""
    mine, other = execute(binding(name="a")), execute(binding(name="b"))
    ledger.admit(other)
    ledger.admit(mine)

    assert [claim.execution_id for claim in ledger.claim(mine)] == [mine.execution_id]
    assert ledger.state(other) == "ADMITTED"


@poses("S4")
def test_a_host_held_for_dead_claims_nothing(ledger: Ledger) -> None:
    """S4: it must introduce itself anew first."""
    command = execute()
    ledger.admit(command)
    ledger.hosts.mark_lost([ledger.host_id])

    with pytest.raises(OwnershipLost):
        ledger.claim(command)


@poses("S8")
def test_nothing_starts_after_not_after(ledger: Ledger) -> None:
    """S8: what nobody could start in time ends without an effect."""
    command = execute(minutes=1)
    ledger.admit(command)
    (claim,) = ledger.claim(command)
    ledger.work.release(claim)
    ledger.clock.ahead = timedelta(minutes=2)

    assert ledger.admit(execute(minutes=1)) is Admission.TOO_LATE
    assert ledger.claim(command) == []
    assert ledger.settle_orphans() == 1
    error = ledger.updates(command)[-1].result().error
    assert error is not None
    assert error.code == "NOT_STARTED"


@poses("S7")
def test_a_start_whose_commit_was_answered_by_silence_is_one_start(ledger: Ledger) -> None:
    """S7: the owner asks again with its token and goes on."""
    command = execute()
    ledger.admit(command)
    (claim,) = ledger.claim(command)
    with plan({"hands.start.after_commit": "raise@1"}), pytest.raises(Exception, match="start"):
        ledger.work.start(claim)

    again = ledger.work.start(claim)

    assert isinstance(again.outcome, Execution)
    assert ledger.kinds(command) == ["admitted", "started"]


@poses("S10")
def test_a_start_that_did_not_commit_leaves_no_record(ledger: Ledger) -> None:
    """S10: no start record, no effect, and the execution stays free of doubt."""
    command = execute()
    ledger.admit(command)
    (claim,) = ledger.claim(command)
    with plan({"hands.start.before_commit": "raise@1"}), pytest.raises(Exception, match="start"):
        ledger.work.start(claim)

    assert ledger.state(command) == "CLAIMED"
    assert ledger.kinds(command) == ["admitted"]


@poses("C48")
@pytest.mark.parametrize(
    ("effect", "state"),
    [
        (EffectClass.READ, "ADMITTED"),
        (EffectClass.IDEMPOTENT, "ADMITTED"),
        (EffectClass.ONCE, "UNKNOWN"),
    ],
)
def test_an_ended_lease_lets_the_effect_class_decide(
    ledger: Ledger, effect: EffectClass, state: str
) -> None:
    """C48, I28: UNKNOWN for `once`, another start for what may run again."""
    command = execute(binding(effect))
    ledger.started(command)
    assert ledger.settle_orphans() == 0
    ledger.clock.ahead = timedelta(seconds=31)

    assert ledger.settle_orphans() == 1

    assert ledger.state(command) == state
    assert ledger.settle_orphans() == 0


def test_unknown_stays_whatever_time_passes(ledger: Ledger) -> None:
    """I28: neither time nor a retry nor a restart ends it."""
    command = execute()
    ledger.started(command)
    for minutes in (1, 60, 60 * 24):
        ledger.clock.ahead = timedelta(minutes=minutes)
        ledger.settle_orphans()
        ledger.admit(command)

    assert ledger.state(command) == "UNKNOWN"
    assert ledger.claim(command) == []


def test_a_zombie_changes_nothing_of_a_new_owner_s_execution(ledger: Ledger) -> None:
    """Law 4: the token of the first attempt no longer counts."""
    command = execute(binding(EffectClass.IDEMPOTENT))
    zombie = ledger.started(command)
    ledger.clock.ahead = timedelta(seconds=31)
    ledger.settle_orphans()
    (claim,) = ledger.claim(command)
    ledger.work.start(claim)

    assert ledger.work.finish(zombie, BROKE).outcome is Refusal.LOST
    assert ledger.work.progress(zombie, {}).outcome is Refusal.LOST
    assert ledger.work.finish(claim, DONE).outcome.state is State.COMPLETED  # type: ignore[union-attr]
    assert ledger.kinds(command) == ["admitted", "started", "started", "result"]


def test_the_real_outcome_resolves_unknown(ledger: Ledger) -> None:
    """I28: the owner that was only slow brings the evidence itself."""
    command = execute()
    claim = ledger.started(command)
    ledger.clock.ahead = timedelta(seconds=31)
    ledger.settle_orphans()

    ledger.work.finish(claim, DONE)

    results = [update for update in ledger.updates(command) if update.kind is UpdateKind.RESULT]
    assert [update.result().state for update in results] == ["UNKNOWN", "COMPLETED"]


@poses("S4")
def test_in_a_gap_an_ended_lease_proves_nothing(ledger: Ledger) -> None:
    """S4: after an outage owners renew first."""
    command = execute()
    claim = ledger.started(command)
    ledger.clock.ahead = timedelta(seconds=31)

    assert ledger.settle_orphans(in_gap=True) == 0
    renewed = ledger.hosts.renew(ledger.host_id, [claim.token])

    assert renewed.kept == {claim.token}
    assert ledger.settle_orphans() == 0


@poses("S4")
def test_a_dead_host_s_work_is_taken_over_before_its_lease_ends(ledger: Ledger) -> None:
    """S4: the mark on the Host row is enough, also in a gap."""
    command = execute()
    ledger.started(command)

    ledger.hosts.mark_lost([ledger.host_id])

    assert ledger.settle_orphans(in_gap=True) == 1
    assert ledger.state(command) == "UNKNOWN"


@poses("S4")
def test_a_process_never_takes_over_what_it_runs_itself(ledger: Ledger) -> None:
    """S4: not even when its own lease has ended."""
    command = execute()
    claim = ledger.started(command)
    ledger.clock.ahead = timedelta(seconds=31)

    told = ledger.orphans.settle(command.execution_id, [claim.token], in_gap=False)

    assert told.outcome is False
    assert ledger.state(command) == "STARTED"


@poses("S3")
def test_renewing_tells_kept_and_superseded_apart(ledger: Ledger) -> None:
    """S3: only another owner or an end means lost."""
    kept, ended = execute(), execute()
    claims = [ledger.started(kept), ledger.started(ended)]
    ledger.work.finish(claims[1], DONE)

    renewed = ledger.hosts.renew(ledger.host_id, [claim.token for claim in claims])

    assert renewed.kept == {claims[0].token}
    assert renewed.superseded == {claims[1].token}
    assert not renewed.host_is_lost
    ledger.hosts.mark_lost([ledger.host_id])
    assert ledger.hosts.renew(ledger.host_id, []).host_is_lost


@poses("S3")
@pytest.mark.postgresql
def test_a_locked_execution_is_neither_kept_nor_lost(ledger: Ledger) -> None:
    """S3: renewing waits for nobody; a locked row is asked for again."""
    command = execute()
    claim = ledger.started(command)
    with ledger.database.change("host") as connection:
        connection.execute(select(execution).with_for_update(key_share=True))

        renewed = ledger.hosts.renew(ledger.host_id, [claim.token])

    assert renewed.kept == frozenset()
    assert renewed.superseded == frozenset()


@poses("S4")
def test_one_host_sweeps_at_a_time(ledger: Ledger) -> None:
    """S4: another takes over the sweeping only when the first has stopped."""
    other = ledger.enroll()

    assert ledger.hosts.sweep_turn(ledger.host_id) is not None
    assert ledger.hosts.sweep_turn(other) is None
    ledger.clock.ahead = timedelta(seconds=3)
    turn = ledger.hosts.sweep_turn(other)
    assert turn is not None
    assert turn.is_new
    assert not turn.in_gap


@poses("S4")
def test_a_scan_after_a_gap_says_so_for_one_renewal_period(ledger: Ledger) -> None:
    """S4: no scan for 5 s, then 10 s in which nobody is taken over."""
    ledger.hosts.sweep_turn(ledger.host_id)
    gaps = []
    for seconds in (6, 10, 14, 17):
        ledger.clock.ahead = timedelta(seconds=seconds)
        turn = ledger.hosts.sweep_turn(ledger.host_id)
        gaps.append(turn is not None and turn.in_gap)

    assert gaps == [True, True, True, False]
