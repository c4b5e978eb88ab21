"""Store rules S5 to S10: deaths, cancels, lost commits and start records."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from hands_app.contract.faults import plan
from sessions_app.contract.backend import (
    Commit,
    Committed,
    Finish,
    Lost,
    Park,
    ResultDraft,
)
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Event, ModelCall, Run, Thread, Turn
from sessions_app.store import clock
from tests.covers import poses
from tests.stores import FRAME, Store, host, in_thread, tool_intent


@poses("S5")
def test_s5_deaths_are_counted_apart_and_hold_the_turn(store: Store) -> None:
    """The second death delays the next claim, each doubles it, the fifth holds the Turn.

    No failure is charged.
    """
    turn_id = store.submit(store.session())
    passed = 0.0
    owner = store.join(host())
    store.claim(owner)
    for deaths, hold in enumerate((0, 1, 2, 4, None), start=1):
        with clock.offset(timedelta(seconds=passed)):
            store.die(owner)
            owner = store.join(host())
            claimed = store.backend.claim(owner, limit=1)  # buries the dead Run first
        assert store.turn(turn_id).deaths == deaths
        assert bool(claimed) == (hold == 0)
        if hold:
            passed += hold + 0.2
            with clock.offset(timedelta(seconds=passed - 0.5)):
                assert store.backend.claim(owner, limit=1) == []
            with clock.offset(timedelta(seconds=passed)):
                store.claim(owner)

    held = store.turn(turn_id)
    assert (held.status, held.reason, held.suspect) == (
        TurnStatus.WAITING,
        WaitReason.SUSPECT,
        True,
    )
    assert held.failures == 0
    assert Thread.objects.get(pk=held.thread_id).wake_at is None


@poses("S5")
def test_s5_a_turn_that_has_to_wait_for_a_process_hides_nobody(store: Store) -> None:
    """While such a Turn runs here the next one is left to others; what stands behind it is not."""
    held = store.submit(store.session("one"))
    for _ in range(2):
        owner = store.join(host())
        store.claim(owner)
        store.die(owner)
    assert store.backend.claim(store.host, limit=1) == []  # buries the second dead Run

    with clock.offset(timedelta(seconds=2)):
        behind = store.submit(store.session("two"), "r2")
        (mine,) = store.backend.claim(store.host, limit=1, suspects=False)
        (others,) = store.backend.claim(store.host, limit=1)

    assert (mine.turn_id, others.turn_id) == (behind, held)


@poses("S5")
def test_s5_committed_progress_forgets_deaths(store: Store) -> None:
    """The count falls to zero with the next committed progress."""
    store.submit(store.session())
    first = store.join(host())
    claim = store.claim(first)
    store.die(first)
    again = store.claim()
    assert store.turn(claim.turn_id).deaths == 1

    store.answered(again)

    assert store.turn(claim.turn_id).deaths == 0


@poses("S6")
def test_s6_a_recorded_cancel_beats_a_finish(store: Store) -> None:
    """A finish decides on the cancel that it reads under the lock.

    Not on what the owner remembers.
    """
    turn_id = store.submit(store.session())
    claim = store.claim()
    Turn.objects.filter(pk=turn_id).update(cancel_request="c1")

    store.finish(claim)

    assert store.turn(turn_id).status == TurnStatus.CANCELLED


@poses("S6")
def test_s6_a_lost_commit_leaves_no_gap(store: Store) -> None:
    """A commit under a stale token takes no sequence."""
    key = store.session()
    store.submit(key, "r1")
    first = store.join(host())
    stale = store.claim(first)
    store.die(first)
    store.claim()

    assert store.finish(stale) == Lost()
    store.submit(key, "r2")

    sequences = list(Event.objects.order_by("sequence").values_list("sequence", flat=True))
    assert sequences == list(range(1, len(sequences) + 1))


@poses("S7")
def test_s7_a_commit_sent_again_is_found_and_not_repeated(store: Store) -> None:
    """The same change id gives the answer again, also after the Turn has ended."""
    store.submit(store.session())
    claim = store.claim()
    finish = Commit(change_id="chg_1", frame=FRAME, end=Finish(result={"parts": []}))

    first = store.backend.commit(claim, finish)
    second = store.backend.commit(claim, finish)

    assert isinstance(first, Committed)
    assert isinstance(second, Committed)
    assert second.position == first.position
    assert Event.objects.filter(type="turn.status", payload__contains="COMPLETED").count() == 1


@poses("S7", "C29")
@pytest.mark.postgresql
def test_s7_a_connection_that_breaks_at_commit_asks_on_a_new_one(store: Store) -> None:
    """The server ends the backend just before COMMIT: the change is made once, by the same call."""
    key = store.session()

    def cut(_name: str) -> None:
        cuts.append(1)
        if len(cuts) == 1:
            pid = _backend_pid()
            in_thread(lambda: _terminate(pid)).result(10)

    cuts: list[int] = []
    with plan({"turn.submit.before_commit": cut}):
        turn_id = store.submit(key)

    assert len(cuts) == 2
    assert list(Turn.objects.values_list("pk", flat=True)) == [turn_id]


def _backend_pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
        return pid


def _terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


@poses("S7")
def test_s7_a_claim_whose_answer_was_lost_is_found_by_its_token(store: Store) -> None:
    """The claim's COMMIT arrived, its answer did not: the same call finds its own lease."""
    store.submit(store.session())
    lost = iter([True])

    def lose(_name: str) -> None:
        if next(lost, False):
            connection.connection.commit()
            msg = "server closed the connection unexpectedly"
            raise OperationalError(msg)

    with plan({"brain.claim.before_commit": lose}):
        claim = store.claim()

    assert Run.objects.get().token == claim.token
    assert isinstance(store.commit(claim), Committed)


@poses("S10")
@pytest.mark.parametrize(
    ("effect", "after"),
    [
        ("once", CallState.UNKNOWN),
        ("queryable", CallState.UNKNOWN),
        ("idempotent", CallState.STARTED),
        ("read", CallState.STARTED),
    ],
)
def test_s10_a_started_call_is_judged_by_its_effect_class(
    store: Store, effect: str, after: CallState
) -> None:
    """After the owner's death a start record without an outcome is UNKNOWN.

    Or runs again where that is safe.
    """
    turn_id = store.submit(store.session())
    first = store.join(host())
    store.answered(store.claim(first), tool_intent(effect))

    store.die(first)
    claims = store.backend.claim(store.host, limit=1)

    assert store.call(turn_id).state == after
    assert len(claims) == (0 if after == CallState.UNKNOWN else 1)
    if after == CallState.UNKNOWN:
        held = store.turn(turn_id)
        assert (held.status, held.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN)
        assert not ModelCall.objects.filter(status="LOST").exists()


@poses("S10")
def test_s10_a_call_without_a_start_record_never_becomes_unknown(store: Store) -> None:
    """The owner commits the intent and dies before the start record.

    The call is simply not begun.
    """
    turn_id = store.submit(store.session())
    first = store.join(host())
    store.answered(store.claim(first), tool_intent("once", start=False))

    store.die(first)
    store.claim()

    assert store.call(turn_id).state == CallState.INTENDED


@poses("S10")
def test_s10_a_woken_owner_starts_nothing(store: Store) -> None:
    """The former owner's start record is refused, so it runs no tool beside its successor."""
    turn_id = store.submit(store.session())
    first = store.join(host())
    stale = store.claim(first)
    answer = store.answered(stale, tool_intent("once", start=False))
    (execution_id,) = answer.execution_ids.values()
    store.die(first)
    store.claim()

    assert store.commit(stale, starts=(execution_id,)) == Lost()
    assert store.call(turn_id).attempts == 0


@poses("S10")
def test_s10_a_result_needs_a_start_record_of_the_same_lease(store: Store) -> None:
    """A result for a call that never started is refused; nothing of the commit is written."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    answer = store.answered(claim, tool_intent("once", start=False))
    (execution_id,) = answer.execution_ids.values()

    with pytest.raises(Exception, match="no start record"):
        store.commit(
            claim, results=(ResultDraft(execution_id=execution_id, state=CallState.COMPLETED),)
        )

    assert store.call(turn_id).state == CallState.INTENDED


def test_park_gives_the_lease_back_and_waits_for_results(store: Store) -> None:
    """A Turn that waits for an external execution holds no lease."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    store.answered(claim, tool_intent(route="hands"))

    store.commit(claim, Park())

    turn, thread = store.turn(turn_id), store.thread(claim)
    assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.TOOL)
    assert thread.lease_token is None
    assert thread.wake_at is None
