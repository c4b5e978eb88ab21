"""How Turns, Threads, results and failures go on the real database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.backend import Finish, Park, ResultDraft
from sessions_app.contract.errors import Unavailable
from sessions_app.contract.identity import ThreadKey
from sessions_app.contract.status import CallState, StepPhase, TurnStatus
from sessions_app.models import (
    Checkpoint,
    Command,
    Event,
    JournalEntry,
    Message,
    ModelCall,
    Run,
    Session,
    Step,
    Thread,
    ToolCall,
    Turn,
)
from sessions_app.store import admission, clock
from tests.covers import covers, poses
from tests.stores import AGENT, FRAME, Gate, Store, in_thread, tool_intent

WRITTEN = (
    Checkpoint,
    Command,
    Event,
    JournalEntry,
    Message,
    ModelCall,
    Run,
    Session,
    Step,
    Thread,
    ToolCall,
    Turn,
)


@covers("R033", "R034")
def test_turns_of_one_thread_run_in_order_of_admission(store: Store) -> None:
    """While the first unfinished Turn waits, the later ones stay queued (R033, R034, I3)."""
    key = store.session()
    turns = [store.submit(key, f"r{number}") for number in range(3)]
    claim = store.claim()
    store.answered(claim, tool_intent(route="hands"))
    store.commit(claim, Park())

    assert store.backend.claim(store.host, limit=5) == []
    assert [store.turn(turn).status for turn in turns] == [
        TurnStatus.WAITING,
        TurnStatus.QUEUED,
        TurnStatus.QUEUED,
    ]


@covers("R035")
def test_threads_of_one_session_run_side_by_side(store: Store) -> None:
    """Two Threads of a Session are owned at the same time (R035)."""
    key = store.session()
    second = ThreadKey(key, "second")
    admission.create_thread(second, AGENT)
    store.submit(key, "r1")
    store.submit(second, "r2")

    claims = store.backend.claim(store.host, limit=2)

    assert {claim.key for claim in claims} == {key.thread(), second}


@covers("R151", "R159")
def test_after_the_budget_the_turn_fails_and_the_next_one_runs(store: Store) -> None:
    """Four tries in all with the stored waits, then FAILED once.

    The Thread goes on (R151, R159, I9).
    """
    key = store.session()
    failed, after = store.submit(key, "r1"), store.submit(key, "r2")
    passed = timedelta(0)
    for wait in (0.0, 1.05, 2.05, 4.05):
        passed += timedelta(seconds=wait)
        with clock.offset(passed):
            claim = store.claim()
            assert claim.turn_id == failed
            store.fail(claim)

    turn = store.turn(failed)
    assert (turn.status, turn.failures) == (TurnStatus.FAILED, 4)
    with clock.offset(passed):
        assert store.claim().turn_id == after


@covers("R152")
def test_a_definite_error_is_not_tried_again(store: Store) -> None:
    """A failure that is not retryable ends the Turn at once (R152)."""
    turn_id = store.submit(store.session())

    store.fail(store.claim(), retryable=False)

    turn = store.turn(turn_id)
    assert (turn.status, turn.failures, turn.error_code) == (TurnStatus.FAILED, 1, "HTTP_503")


@covers("R080")
def test_a_local_result_is_applied_with_the_checkpoint_that_contains_it(store: Store) -> None:
    """Receipt and application are two facts (R080, I32)."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    (execution_id,) = store.answered(claim, tool_intent()).execution_ids.values()
    result = ResultDraft(execution_id=execution_id, state=CallState.COMPLETED, content="42")

    store.commit(claim, results=(result,))
    received = store.call(turn_id)
    store.commit(claim, applied=(execution_id,), frame=FRAME)
    applied = store.call(turn_id)

    assert (received.state, received.applied_at) == (CallState.COMPLETED, None)
    assert applied.applied_at is not None
    assert applied.applied_run == claim.run_id


def test_the_next_phase_opens_a_step_of_its_own(store: Store) -> None:
    """Steps of a Run follow one another; an answered request leaves no REASONING Step open."""
    store.submit(store.session())
    claim = store.claim()
    store.answered(claim, tool_intent())

    phases = list(Step.objects.order_by("ordinal").values_list("phase", "status"))

    assert phases == [(StepPhase.REASONING, "COMPLETED"), (StepPhase.TOOL, "OPEN")]


def test_a_busy_session_is_answered_in_bounded_time(store: Store) -> None:
    """A submit that cannot get the Session's lock is Unavailable and writes nothing."""
    key = store.session()
    gate = Gate()
    with plan({"turn.submit.before_commit": gate}):
        holding = in_thread(lambda: store.submit(key, "r1"))
        assert gate.reached.wait(10)
        refused = in_thread(lambda: store.submit(key, "r2"))
        if _waits_for_ever():
            gate.open()
            refused.result(30)
            return
        with pytest.raises(Unavailable):
            refused.result(30)
        gate.open()
        holding.result(20)
    assert Turn.objects.count() == 1


def _waits_for_ever() -> bool:
    from django.db import connection  # noqa: PLC0415 - after the database is open

    return connection.vendor == "sqlite"  # its bound is 20 s: see the settings


def test_a_finish_hands_the_thread_to_the_next_turn(store: Store) -> None:
    """Final message, result, terminal status and the next Turn's time to wake are one commit."""
    key = store.session()
    store.submit(key, "r1")
    claim = store.claim()
    second = store.submit(key, "r2")

    store.commit(
        claim,
        Finish(result={"parts": []}),
        frame=FRAME,
        messages=({"ordinal": 1, "parts": ("bye",)},),
    )

    assert store.claim().turn_id == second
    assert Message.objects.filter(role="assistant").count() == 1


@covers("R045")
def test_a_cancelled_turn_is_settled_by_its_next_claim(store: Store) -> None:
    """A gated call that nobody answered never began: one claim ends the Turn, not sixty (R045)."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    gated = tool_intent(start=False).model_copy(update={"needs_approval": True})
    store.answered(claim, gated)
    Turn.objects.filter(pk=turn_id).update(cancel_request="c1")
    store.commit(claim, Park())

    again = store.claim()
    assert again.settling
    store.fail(again)

    assert store.turn(turn_id).status == TurnStatus.CANCELLED
    assert store.call(turn_id).state == CallState.NOT_EXECUTED


@poses("S5")
def test_a_batch_claims_one_suspect_at_most(store: Store) -> None:
    """Of two Turns that took processes down a process runs one at a time (S5)."""
    for name in ("a", "b"):
        store.submit(store.session(name))
    Turn.objects.update(deaths=2)

    claims = store.backend.claim(store.host, limit=2)

    assert [claim.suspect for claim in claims] == [True]
