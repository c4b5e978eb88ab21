"""Steer, inject, withdraw: public, in order, applied once or not at all, never silently lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.backend import Commit, Committed, Finish, Stale
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import Closed, Conflict, NotFound
from sessions_app.contract.status import SignalKind, SignalStatus, WaitReason
from sessions_app.models import Event, Message, Signal, Thread, Turn
from sessions_app.store import clock, controls
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.controls.scenes import Subject, running, submitted, waiting
from tests.integration.runtime.world import everything
from tests.stores import FRAME, Gate, Store, in_thread, wait_until_blocked


def withdraw(subject: Subject, target: str, request: str = "w1") -> str:
    """Withdraw an input and give the outcome."""
    return subject.withdraw(request, target).outcome


def inject(subject: Subject, request: str = "inject") -> str:
    """Inject, and give the signal's id."""
    given = subject.inject(request).subject
    assert given is not None
    return given


@covers("R038", "R043")
@pytest.mark.parametrize("kind", ["steer", "inject"])
def test_an_input_is_a_public_message_of_the_user(store: Store, kind: str) -> None:
    """With request id and input kind, behind the event of its admission; the receipt names both."""
    subject = running(store)
    ask = {"steer": controls.steer, "inject": controls.inject}[kind]

    receipt = ask(subject.key, subject.turn_id, "i1", user_input("in French"))

    admitted, said = Event.objects.filter(sequence__gte=receipt.sequence).order_by("sequence")
    assert (admitted.type, said.type) == ("signal.admitted", "message.completed")
    assert admitted.payload["signalId"] == receipt.subject
    assert said.payload["requestId"] == "i1"
    assert said.payload["inputKind"] == kind
    message = Message.objects.get(request_id="i1")
    assert (message.role, message.input_kind, message.turn_id) == ("user", kind, subject.turn_id)
    assert message.parts == [{"type": "text", "text": "in French"}]
    assert check().is_clean


def test_inputs_are_given_to_the_owner_in_the_order_of_admission(store: Store) -> None:
    """Also those of the time before it began, and across kinds."""
    subject = submitted(store)
    subject.steer("one", "one")
    inject(subject, "two")
    subject.claimed()
    subject.steer("three", "three")

    native = store.backend.load(subject.claim)

    assert [given.text for given in native.inputs] == ["one", "material", "three"]
    assert [given.kind for given in native.inputs] == ["STEER", "INJECT", "STEER"]


@pytest.mark.tampers
@covers("R040")
@poses("S2")
@pytest.mark.parametrize(("kind", "due"), [(SignalKind.STEER, True), (SignalKind.INJECT, False)])
def test_a_steer_wakes_a_turn_that_could_reason_and_an_inject_does_not(
    store: Store, kind: SignalKind, *, due: bool
) -> None:
    """A Turn that waits for a signal, with no call open: direction makes a step happen."""
    subject = running(store)
    Turn.objects.update(status="WAITING", reason=WaitReason.SIGNAL, run_id=None)
    Thread.objects.update(lease_host=None, lease_token=None, lease_expires_at=None, wake_at=None)

    if kind == SignalKind.STEER:
        subject.steer()
    else:
        inject(subject)

    assert (Thread.objects.get().wake_at is not None) is due


@poses("S2", "S11")
def test_a_steer_waits_for_the_open_calls_of_the_round(store: Store) -> None:
    """No Run begins for it while results are missing."""
    subject = waiting(store)

    subject.steer()

    assert Thread.objects.get().wake_at is None
    assert store.backend.claim(store.host, limit=1) == []


@covers("R054")
@poses("S2")
def test_a_steer_does_not_shorten_a_backoff(store: Store) -> None:
    """The next try comes at its time, and takes the steer along."""
    subject = submitted(store)
    subject.fails()
    planned = Thread.objects.get().wake_at

    subject.steer()

    assert Thread.objects.get().wake_at == planned
    with clock.offset(timedelta(seconds=2)):
        assert len(store.backend.load(subject.claimed()).inputs) == 1


@pytest.mark.tampers
@poses("S5")
def test_a_steer_does_not_release_a_suspect(store: Store) -> None:
    """It stays held until an operator releases it."""
    subject = submitted(store)
    subject.fails()
    Turn.objects.update(suspect=True, reason=WaitReason.SUSPECT, deaths=5)

    subject.steer()

    with clock.offset(timedelta(days=1)):
        assert store.backend.claim(store.host, limit=1) == []
    assert subject.row.deaths == 5


@covers("R041")
def test_an_input_is_withdrawn_by_its_signal_or_request_id(store: Store) -> None:
    """Twice is once: the second request is admitted and changes nothing."""
    subject = running(store)
    by_request, by_signal = subject.steer("s1"), subject.steer("s2")
    assert by_signal.subject is not None

    assert withdraw(subject, "s1", "w1") == "withdrawn"
    assert withdraw(subject, by_signal.subject, "w2") == "withdrawn"
    events = Event.objects.count()
    assert withdraw(subject, "s1", "w3") == "withdrawn"

    told = Event.objects.filter(type="signal.withdrawn").order_by("sequence")
    assert [event.payload["requestId"] for event in told] == ["s1", "s2"]
    assert Event.objects.count() == events
    assert store.backend.load(subject.claim).inputs == ()
    assert check().is_clean
    assert by_request.outcome == "admitted"


@covers("R041")
def test_an_applied_input_is_not_withdrawn(store: Store) -> None:
    """The refusal names where it was applied, also after the Turn has ended; nothing is written."""
    subject = running(store)
    applied = subject.steer("s1").subject
    assert applied is not None
    store.commit(subject.claim, frame=FRAME, inputs_applied=(applied,))
    position = Signal.objects.get().applied_position
    before = everything()

    with pytest.raises(Conflict, match=f"applied at position {position}"):
        withdraw(subject, "s1")
    assert everything() == before
    store.finish(subject.claim)
    with pytest.raises(Closed, match=f"applied at position {position}"):
        withdraw(subject, "s1")


@pytest.mark.parametrize("target", ["sig_unknown", "unknown", "r1", ""])
def test_what_is_no_input_of_the_turn_is_not_found(store: Store, target: str) -> None:
    """Neither is an input of another Turn, nor the submission itself."""
    subject = running(store)
    other = store.submit(subject.key, "r2")
    controls.steer(subject.key, other, "unknown", user_input("for the other one"))
    before = everything()

    with pytest.raises(NotFound):
        withdraw(subject, target)

    assert everything() == before


@covers("R041")
@poses("S6", "S12")
def test_a_withdrawal_that_comes_first_makes_the_commit_stale(store: Store) -> None:
    """The owner had read the input already: nothing of its commit is written, and it may go on."""
    subject = running(store)
    signal = subject.steer("s1").subject
    assert signal is not None
    withdraw(subject, "s1")
    before = everything()

    answer = store.commit(subject.claim, frame=FRAME, inputs_applied=(signal,))

    assert answer == Stale((signal,))
    assert everything() == before
    assert isinstance(store.finish(subject.claim), Committed)


@covers("R041")
@poses("S6", "S12")
def test_a_withdrawal_that_comes_during_the_commit_loses(store: Store) -> None:
    """It waits for the Session's lock, then reads that the input is applied."""
    subject = running(store)
    signal = subject.steer("s1").subject
    assert signal is not None
    gate = Gate()

    with plan({"brain.commit.before_commit": gate}):
        applying = in_thread(
            lambda: store.commit(subject.claim, frame=FRAME, inputs_applied=(signal,))
        )
        assert gate.reached.wait(10)
        withdrawing = in_thread(lambda: withdraw(subject, "s1"))
        wait_until_blocked(withdrawing)
        gate.open()
        applying.result(20)
        with pytest.raises(Conflict, match="applied at position"):
            withdrawing.result(20)

    assert Signal.objects.get().status == SignalStatus.APPLIED


@covers("R041")
@poses("S6", "S12")
def test_a_commit_that_comes_during_the_withdrawal_is_stale(store: Store) -> None:
    """It waits for the Session's lock, then reads that the input is gone."""
    subject = running(store)
    signal = subject.steer("s1").subject
    assert signal is not None
    gate = Gate()

    with plan({"turn.control.before_commit": gate}):
        withdrawing = in_thread(lambda: withdraw(subject, "s1"))
        assert gate.reached.wait(10)
        applying = in_thread(
            lambda: store.commit(subject.claim, frame=FRAME, inputs_applied=(signal,))
        )
        wait_until_blocked(applying)
        gate.open()
        withdrawing.result(20)

        assert applying.result(20) == Stale((signal,))


@covers("R040")
@poses("S12")
def test_a_finish_takes_another_step_for_a_steer_and_closes_an_inject(store: Store) -> None:
    """No input is lost silently: the steer leads on, the inject is closed by an event."""
    subject = running(store)
    steer = subject.steer().subject
    closed = inject(subject)
    assert steer is not None

    first = store.finish(subject.claim)
    assert isinstance(first, Committed)
    assert first.went_on
    store.commit(subject.claim, frame=FRAME, inputs_applied=(steer,))
    store.finish(subject.claim)

    told = Event.objects.filter(type="signal.closed")
    assert [event.payload["signalId"] for event in told] == [closed]
    assert subject.row.status == "COMPLETED"
    assert check(quiet=True).is_clean


@poses("S6", "S7")
def test_a_finish_whose_answer_was_lost_still_hears_of_the_steer(store: Store) -> None:
    """Sent again under its change id, it tells that the Turn goes on and what is to be taken in."""
    subject = running(store)
    subject.steer()
    finish = Commit(change_id="chg_1", frame=FRAME, end=Finish(result={"parts": []}))

    first, again = (store.backend.commit(subject.claim, finish) for _ in range(2))

    assert isinstance(first, Committed)
    assert isinstance(again, Committed)
    assert (again.went_on, again.inputs) == (True, first.inputs)


@poses("S12")
def test_a_cancel_is_not_led_on_by_a_steer(store: Store) -> None:
    """A finish that finds both ends the Turn, and the steer is closed."""
    subject = running(store)
    subject.steer()
    subject.cancel()

    store.finish(subject.claim)

    assert subject.row.status == "CANCELLED"
    assert Signal.objects.get().status == SignalStatus.CLOSED
