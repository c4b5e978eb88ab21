"""Store rules S2, S5 and S12, each held for every control on the real store."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.backend import Committed, Finish, Park
from sessions_app.contract.errors import Conflict
from sessions_app.contract.status import SignalStatus, TurnStatus, WaitReason
from sessions_app.machine.control_table import Operation
from sessions_app.models import Signal, Thread, ToolCall
from sessions_app.store import clock
from sessions_app.store.invariants import check
from tests.covers import poses
from tests.integration.controls.scenes import INPUT, Subject, awaiting, brought_to, submitted
from tests.stores import FRAME, Store, host, tool_intent

if TYPE_CHECKING:
    from sessions_app.contract.views import Receipt

Op = Operation
OWNED: Final = [each for each in Operation if each != Op.RESUME]
"""What may be asked of a Turn that is owned; a PAUSED one is not, so no lease meets a resume."""


class Due(StrEnum):
    """When a scanner looks at the Thread next."""

    NOW = "now"
    PLANNED = "planned"  # at the end of the backoff, neither earlier nor later
    NEVER = "never"  # not before another fact


# What it makes of a Thread in backoff, and of one that waits: for the answer or the signal that the
# control brings, else for a call elsewhere.
WAKES: Final = {
    Op.STEER: (Due.PLANNED, Due.NEVER),
    Op.INJECT: (Due.PLANNED, Due.NEVER),
    Op.WITHDRAW: (Due.PLANNED, Due.NEVER),
    Op.PAUSE: (Due.NEVER, Due.NEVER),
    Op.RESUME: (Due.PLANNED, Due.NEVER),
    Op.CANCEL: (Due.NOW, Due.NEVER),  # a call that may have been sent is ended by Hands alone
    Op.SIGNAL: (Due.PLANNED, Due.NOW),
    Op.RESPOND: (Due.PLANNED, Due.NOW),
}
UNSETTLED: Final = [each for each in Operation if each != Op.CANCEL]
"""A cancel is not held: it only settles, which runs nothing of the agent that took hosts down."""
# What a finish does behind it: whether the Turn goes on, where it stands then, and what became of
# the inject that was open before and of the signal that the control itself is.
FINISHES: Final = {
    Op.STEER: (True, TurnStatus.RUNNING, ["PENDING", "PENDING"]),
    Op.INJECT: (False, TurnStatus.COMPLETED, ["CLOSED", "CLOSED"]),
    Op.WITHDRAW: (False, TurnStatus.COMPLETED, ["WITHDRAWN"]),
    Op.PAUSE: (False, TurnStatus.COMPLETED, ["CLOSED"]),
    Op.RESUME: (False, TurnStatus.COMPLETED, ["CLOSED"]),
    Op.CANCEL: (False, TurnStatus.CANCELLED, ["CLOSED"]),
    Op.SIGNAL: (False, TurnStatus.COMPLETED, ["CLOSED", "CLOSED"]),
    Op.RESPOND: (False, TurnStatus.COMPLETED, ["CLOSED"]),
}


def _ask(subject: Subject, operation: Operation) -> Receipt:
    """Ask for it; a resume lifts a pause of which nobody had heard."""
    if operation == Op.RESUME:
        subject.pause("before")
        if subject.row.run_id is not None:
            subject.store.commit(subject.claim, Park())
    return subject.ask(operation)


def _failed(store: Store, operation: Operation) -> Subject:
    """Give a Turn that is tried again later, and asks a person if that is to be answered."""
    subject = brought_to(TurnStatus.RUNNING, store, asks=operation == Op.RESPOND)
    store.answered(subject.claim, ordinal=1 + subject.asks)
    store.fail(subject.claim)
    return subject


def _killed(store: Store, operation: Operation, deaths: int) -> Subject:
    """Give a Turn whose owners died, one after the other; from the second on they are buried."""
    subject = submitted(store)
    subject.inject(INPUT)
    passed = 0.0
    for death in range(1, deaths + 1):
        with clock.offset(timedelta(seconds=passed)):
            owner = store.join(host())
            claim = store.claim(owner)
            if death == 1 and operation == Op.RESPOND:
                store.answered(claim, tool_intent(route="manual", start=False))
            store.die(owner)
            if death > 1:
                assert store.backend.claim(store.host, limit=1) == []
                passed += 2 ** (death - 2) + 0.2
    return subject


def _claims(store: Store, **later: float) -> list[bool]:
    """Whether each Turn that a host is given then is a suspect."""
    with clock.offset(timedelta(**later)):
        return [claim.suspect for claim in store.backend.claim(store.host, limit=1)]


@poses("S2")
@pytest.mark.parametrize("operation", OWNED)
def test_s2_a_live_lease_is_not_shortened_by_any_control(
    store: Store, operation: Operation
) -> None:
    """Its end is when to look, whatever else has arrived; nobody is called and nobody claims."""
    subject = brought_to(TurnStatus.RUNNING, store, asks=operation == Op.RESPOND)
    lease = Thread.objects.get().lease_expires_at
    store.rings.threads.clear()

    subject.ask(operation)

    thread = Thread.objects.get()
    assert thread.wake_at == thread.lease_expires_at == lease
    assert store.rings.threads == []
    assert store.backend.claim(store.join(host()), limit=1) == []


@poses("S2")
@pytest.mark.parametrize("place", ["backoff", "waiting"])
@pytest.mark.parametrize("operation", Operation)
def test_s2_when_to_look_follows_every_control_in_its_own_commit(
    store: Store, operation: Operation, place: str
) -> None:
    """The column, the ring and the next claim agree with what the control changed."""
    subject = {"backoff": _failed, "waiting": awaiting}[place](store, operation)
    planned = Thread.objects.get().wake_at
    store.rings.threads.clear()

    _ask(subject, operation)

    due = WAKES[operation][place == "waiting"]
    wake_at = Thread.objects.get().wake_at
    if due == Due.NOW:
        assert wake_at is not None
        assert wake_at <= clock.now()
    else:
        assert wake_at == (planned if due == Due.PLANNED else None)
    assert bool(store.rings.threads) == (due == Due.NOW)
    assert bool(store.backend.claim(store.host, limit=1)) == (due == Due.NOW)


@poses("S5")
@pytest.mark.parametrize("operation", OWNED)
def test_s5_a_death_behind_a_control_is_counted_and_charges_nothing(
    store: Store, operation: Operation
) -> None:
    """The second death after one control is the second: it neither resets nor fails anything."""
    subject = _killed(store, operation, 1)
    owner = store.join(host())
    subject.claims.append(store.claim(owner))

    subject.ask(operation)
    store.die(owner)
    store.backend.claim(store.host, limit=1)

    assert (subject.row.deaths, subject.row.failures) == (2, 0)


@poses("S5")
@pytest.mark.parametrize("operation", UNSETTLED)
def test_s5_no_control_skips_the_hold_after_deaths(store: Store, operation: Operation) -> None:
    """Nobody claims it at once, and the count stands when its time has come."""
    subject = _killed(store, operation, 2)

    _ask(subject, operation)

    assert (subject.row.deaths, subject.row.failures) == (2, 0)
    assert _claims(store) == []
    assert _claims(store, seconds=1.5) == ([] if operation == Op.PAUSE else [True])


@poses("S5")
@pytest.mark.parametrize("operation", UNSETTLED)
def test_s5_no_control_releases_a_suspect(store: Store, operation: Operation) -> None:
    """A day later it is held still, for the same reason."""
    subject = _killed(store, operation, 5)

    _ask(subject, operation)

    row = subject.row
    assert (row.suspect, row.deaths, row.failures) == (True, 5, 0)
    assert row.reason == WaitReason.SUSPECT
    assert _claims(store, days=1) == []


@poses("S5")
@pytest.mark.parametrize("deaths", [2, 5])
def test_s5_a_cancel_settles_without_delay_and_counts_nothing(store: Store, deaths: int) -> None:
    """Only the native state is cleaned up, which one host does at once."""
    subject = _killed(store, Op.RESPOND, deaths)

    subject.cancel()

    assert subject.claimed().settling
    store.fail(subject.claim, retryable=False)
    row = subject.row
    assert (row.status, row.deaths, row.failures) == (TurnStatus.CANCELLED, deaths, 0)


@poses("S12")
@pytest.mark.parametrize("operation", Operation)
def test_s12_what_a_boundary_took_in_stays_applied(store: Store, operation: Operation) -> None:
    """No control takes it back, moves its position or has it given out again."""
    subject = brought_to(TurnStatus.RUNNING, store, asks=operation == Op.RESPOND)
    taken = Signal.objects.get()
    store.commit(subject.claim, frame=FRAME, inputs_applied=(taken.pk,))
    position = Thread.objects.get().journal_position

    if operation == Op.WITHDRAW:
        with pytest.raises(Conflict, match=f"applied at position {position}"):
            subject.ask(operation)
    else:
        _ask(subject, operation)

    taken.refresh_from_db()
    assert (taken.status, taken.applied_position) == (SignalStatus.APPLIED, position)
    if operation == Op.RESUME:
        subject.claimed()
    assert taken.pk not in {given.signal_id for given in store.backend.load(subject.claim).inputs}


@poses("S12")
@pytest.mark.parametrize("operation", Operation)
def test_s12_a_finish_behind_any_control_loses_no_input(store: Store, operation: Operation) -> None:
    """A steer is led on for; every other input that is open then is closed by name."""
    goes_on, status, signals = FINISHES[operation]
    subject = brought_to(TurnStatus.RUNNING, store, asks=operation == Op.RESPOND)
    _ask(subject, operation)
    if operation == Op.RESUME:
        subject.claimed()
    calls = tuple(ToolCall.objects.values_list("pk", flat=True))

    answer = store.commit(subject.claim, Finish(result={"parts": []}), frame=FRAME, applied=calls)

    assert isinstance(answer, Committed)
    assert (answer.went_on, subject.row.status) == (goes_on, status)
    kept = Signal.objects.order_by("ordinal").values_list("status", flat=True)
    assert list(kept) == signals
    assert check(quiet=True).is_clean
