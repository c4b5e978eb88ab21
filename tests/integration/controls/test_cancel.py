"""Cancel: at once where nothing was begun, else effects settle and one commit cleans up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.backend import Committed, HandOver, Park
from sessions_app.contract.errors import Closed
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Run, ToolCall, Turn
from sessions_app.store import clock, controls
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.controls.scenes import Subject, held, running, submitted
from tests.stores import Gate, Store, host, in_thread, tool_intent, wait_until_blocked


def settled(subject: Subject) -> Turn:
    """Claim the Turn, which only settles it, and give its row."""
    assert subject.claimed().settling
    subject.store.fail(subject.claim, retryable=False)
    return subject.row


@covers("R044")
@poses("S2")
def test_a_queued_turn_ends_at_once_wherever_it_stands(store: Store) -> None:
    """The head keeps its place, and what is behind the cancelled one moves up."""
    subject = submitted(store)
    second, third = (store.submit(subject.key, name) for name in ("r2", "r3"))

    receipt = controls.cancel(subject.key, second, "c1")

    assert receipt.outcome == "cancelled"
    assert store.turn(second).status == TurnStatus.CANCELLED
    assert not Run.objects.exists()
    store.finish(subject.claimed())
    assert store.claim().turn_id == third


@covers("R044")
@poses("S2")
def test_a_cancelled_head_makes_way_for_the_next_at_once(store: Store) -> None:
    """The cancel rings for the Turn behind it, which is ready in the same commit."""
    subject = submitted(store)
    second = store.submit(subject.key, "r2")
    store.rings.threads.clear()

    subject.cancel()

    assert store.rings.threads == [subject.row.thread_id]
    assert store.claim().turn_id == second


@covers("R054")
@poses("S2")
def test_a_cancel_skips_the_backoff_of_a_turn_that_left_traces(store: Store) -> None:
    """Its Thread is due now instead of at its next try, and no failure is charged."""
    subject = submitted(store)
    store.answered(subject.claimed())
    store.fail(subject.claim)
    assert subject.row.reason == WaitReason.BACKOFF

    receipt = subject.cancel()
    turn = settled(subject)

    assert receipt.outcome == "cancelling"
    assert (turn.status, turn.failures) == (TurnStatus.CANCELLED, 1)
    assert check(quiet=True).is_clean


@covers("R054")
def test_a_turn_that_left_no_trace_needs_nobody_to_settle_it(store: Store) -> None:
    """It failed before anything of it was stored, and ends although no host is alive."""
    subject = submitted(store)
    subject.fails()

    assert subject.cancel().outcome == "cancelled"
    assert subject.row.status == TurnStatus.CANCELLED
    assert check(quiet=True).is_clean


@poses("S10")
def test_a_call_that_a_person_never_allowed_was_not_executed(store: Store) -> None:
    """It is closed with the cancel, and one claim ends the Turn."""
    subject = submitted(store)
    gated = tool_intent(start=False).model_copy(update={"needs_approval": True})
    store.answered(subject.claimed(), gated)
    store.commit(subject.claim, Park())

    subject.cancel()

    assert store.call(subject.turn_id).state == CallState.NOT_EXECUTED
    assert settled(subject).status == TurnStatus.CANCELLED


@covers("R045")
@poses("S9")
def test_what_may_have_been_sent_is_ended_by_hands_alone(store: Store) -> None:
    """The wish is noted on the call and is due to be sent; the Turn waits for its end."""
    subject = submitted(store)
    subject.parks()

    subject.cancel()

    call = store.call(subject.turn_id)
    assert call.state == CallState.INTENDED
    assert call.cancel_requested_at == call.deliver_at
    assert subject.row.status == TurnStatus.CANCELLING
    assert store.backend.claim(store.host, limit=1) == []


def test_an_unknown_effect_holds_a_cancelled_turn(store: Store) -> None:
    """It ends by evidence, as one that failed does; no cancel guesses it away (law 7)."""
    subject = submitted(store)
    first = store.join(host())
    store.answered(store.claim(first), tool_intent("once"))
    store.die(first)
    assert store.backend.claim(store.host, limit=1) == []

    subject.cancel()

    assert subject.row.status == TurnStatus.CANCELLING
    assert store.call(subject.turn_id).state == CallState.UNKNOWN
    with clock.offset(timedelta(days=30)):
        assert store.backend.claim(store.host, limit=1) == []


@pytest.mark.parametrize(
    ("effect", "state"),
    [("read", CallState.CANCELLED), ("idempotent", CallState.FAILED), ("once", CallState.UNKNOWN)],
)
def test_a_local_call_of_a_dead_owner_is_not_run_again(
    store: Store, effect: str, state: CallState
) -> None:
    """One that could have been repeated is closed, of another nobody knows; the Turn settles."""
    subject = submitted(store)
    first = store.join(host())
    store.answered(store.claim(first), tool_intent(effect))
    subject.cancel()

    store.die(first)
    settling = store.backend.claim(store.host, limit=1)

    assert store.call(subject.turn_id).state == state
    assert subject.row.status == TurnStatus.CANCELLING
    assert [claim.settling for claim in settling] == ([] if state == CallState.UNKNOWN else [True])
    assert check().is_clean


@poses("S5")
def test_a_cancelled_suspect_is_let_go(store: Store) -> None:
    """Settling runs nothing of its agent, so it is not held for an operator any longer."""
    subject = submitted(store)
    store.answered(subject.claimed())
    store.fail(subject.claim)
    Turn.objects.update(suspect=True, reason=WaitReason.SUSPECT, deaths=5)

    subject.cancel()

    assert settled(subject).status == TurnStatus.CANCELLED


@poses("S6", "S9")
@pytest.mark.parametrize("route", ["hands", "local"])
def test_no_intent_is_stored_after_a_recorded_cancel(store: Store, route: str) -> None:
    """An owner that did not hear of it asks for a tool: nothing leaves or starts (I13)."""
    subject = submitted(store)
    subject.claimed()
    subject.cancel()

    answer = store.answered(subject.claim, tool_intent(route=route))

    assert not ToolCall.objects.exists()
    assert (answer.cancel, answer.started, answer.execution_ids) == (True, (), {})


@poses("S6", "S10")
def test_no_start_record_is_made_after_a_recorded_cancel(store: Store) -> None:
    """The owner is told which calls it may begin: this one it may not."""
    subject = submitted(store)
    store.answered(subject.claimed(), tool_intent(start=False))
    subject.cancel()

    answer = store.commit(subject.claim, starts=(store.call(subject.turn_id).pk,))

    assert isinstance(answer, Committed)
    assert answer.started == ()
    assert store.call(subject.turn_id).started_at is None


@poses("S24")
def test_a_cancelled_turn_that_is_handed_over_is_settled_by_the_next(store: Store) -> None:
    """A call that its owner had not begun holds nobody up."""
    subject = submitted(store)
    store.answered(subject.claimed(), tool_intent(start=False))
    subject.cancel()

    store.commit(subject.claim, HandOver(reason="drain"))

    assert settled(subject).status == TurnStatus.CANCELLED
    assert store.call(subject.turn_id).state == CallState.NOT_EXECUTED


@poses("S5")
def test_a_turn_held_after_deaths_is_settled_without_delay(store: Store) -> None:
    """Nobody owns it while it is held; the cancel does not wait for the hold to end."""
    subject = held(store)

    subject.cancel()

    assert subject.row.status == TurnStatus.CANCELLED
    assert check(quiet=True).is_clean


@poses("S6", "C36")
def test_a_cancel_that_comes_during_the_finish_is_told_that_it_lost(store: Store) -> None:
    """It waits for the Session's lock and then reads COMPLETED."""
    subject = running(store)
    gate = Gate()

    with plan({"brain.commit.before_commit": gate}):
        finishing = in_thread(lambda: store.finish(subject.claim))
        assert gate.reached.wait(10)
        cancelling = in_thread(subject.cancel)
        wait_until_blocked(cancelling)
        gate.open()
        finishing.result(20)
        with pytest.raises(Closed, match="COMPLETED"):
            cancelling.result(20)

    assert subject.row.cancel_request is None


@poses("S6", "C36")
def test_a_finish_that_comes_during_the_cancel_ends_the_turn_cancelled(store: Store) -> None:
    """It waits for the Session's lock and decides on the cancel that it reads then (I13)."""
    subject = running(store)
    gate = Gate()

    with plan({"turn.control.before_commit": gate}):
        cancelling = in_thread(subject.cancel)
        assert gate.reached.wait(10)
        finishing = in_thread(lambda: store.finish(subject.claim))
        wait_until_blocked(finishing)
        gate.open()
        cancelling.result(20)
        finishing.result(20)

    assert subject.row.status == TurnStatus.CANCELLED
    assert check(quiet=True).is_clean
