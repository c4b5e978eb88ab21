"""The laws of the house, one test or more each, on the real database."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction

from hands_app.contract.faults import declared, plan
from sessions_app.contract.backend import Committed, Lost, Park
from sessions_app.contract.status import CallState, RunStatus
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
from sessions_app.store import clock
from sessions_app.store.transaction import OPERATIONS
from tests.covers import covers, poses
from tests.stores import FRAME, Gate, Store, host, in_thread, tool_intent, wait_until_blocked

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Claim

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


def everything() -> dict[str, list[Any]]:
    """Every row of every table that a change writes."""
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in WRITTEN}


@poses("C2", "C4")
def test_law_1_a_message_is_a_hint_and_losing_it_loses_nothing(store: Store) -> None:
    """With every hint dropped the ready index still leads to the Turn (C2, C4, I44)."""
    turn_id = store.submit(store.session())
    store.rings.threads.clear()

    assert store.claim().turn_id == turn_id


@poses("C6")
def test_law_1_hints_ring_after_the_commit_and_never_before(store: Store) -> None:
    """Nothing rings while the transaction is open, nothing at all when it rolls back (C6)."""
    key = store.session()
    with transaction.atomic():
        store.submit(key, "r1")
        assert store.rings.threads == []
        transaction.set_rollback(True)
    assert store.rings.threads == []
    assert not Turn.objects.exists()

    with transaction.atomic():
        store.submit(key, "r1")
        assert store.rings.threads == []
    assert len(store.rings.threads) == 1


@poses("C6")
def test_law_1_an_early_hint_finds_nothing_to_do(store: Store) -> None:
    """A hint for a Turn that is not committed yet claims nothing and raises nothing (C6)."""
    key = store.session()
    thread_pk = Thread.objects.get().pk
    gate = Gate()

    with plan({"turn.submit.before_commit": gate}):
        submitting = in_thread(lambda: store.submit(key))
        assert gate.reached.wait(10)
        early = in_thread(lambda: store.backend.claim(store.host, limit=1, first=thread_pk))
        wait_until_blocked(early)
        gate.open()
        submitting.result(20)
        early.result(20)

    assert Run.objects.count() <= 1


@covers("R138")
@pytest.mark.parametrize("point", ["turn.submit", "brain.claim", "brain.commit"])
def test_law_2_a_change_is_there_as_a_whole_or_not_at_all(store: Store, point: str) -> None:
    """A change that dies just before its commit leaves no row.

    No event and no sequence (I16, I21, R138).
    """
    key = store.session()
    claims: list[Claim] = []
    steps: dict[str, Callable[[], object]] = {
        "turn.submit": lambda: store.submit(key),
        "brain.claim": lambda: claims.append(store.claim()),
        "brain.commit": lambda: store.answered(claims[0], tool_intent()),
    }
    for name, step in steps.items():
        if name == point:
            before = everything()
            with plan({f"{point}.before_commit": _die}), pytest.raises(MemoryError):
                step()
            assert everything() == before
        step()


def _die(_name: str) -> None:
    raise MemoryError


@covers("R138")
def test_law_2_one_commit_covers_journal_checkpoint_intents_and_events(store: Store) -> None:
    """Outcome, journal entry, checkpoint, intent.

    Start record and events share one moment (R138).
    """
    turn_id = store.submit(store.session())
    claim = store.claim()

    store.answered(claim, tool_intent())

    moments = {
        JournalEntry.objects.get().at,
        Checkpoint.objects.get().at,
        ModelCall.objects.get().at,
        store.call(turn_id).intended_at,
        Event.objects.get(type="tool.requested").at,
    }
    assert len(moments) == 1


def test_law_2_every_commit_has_a_pair_of_fault_points() -> None:
    """The crash tests can stop a process before and after each commit of the store."""
    for operation in OPERATIONS:
        assert {f"{operation}.before_commit", f"{operation}.after_commit"} <= declared()


@poses("C22")
def test_law_3_sequences_have_no_gap_and_no_reader_sees_n_plus_one_before_n(store: Store) -> None:
    """A writer that stalls before its commit holds the next one back.

    A rollback leaves no hole (C22).
    """
    key = store.session()
    gate = Gate()

    def stall_and_roll_back(name: str) -> None:
        gate(name)
        if rolled_back:
            return
        rolled_back.append(1)
        raise MemoryError

    rolled_back: list[int] = []
    with plan({"turn.submit.before_commit": stall_and_roll_back}):
        first = in_thread(lambda: store.submit(key, "r1"))
        assert gate.reached.wait(10)
        second = in_thread(lambda: store.submit(key, "r2"))
        wait_until_blocked(second)
        seen = list(Event.objects.values_list("sequence", flat=True))
        gate.open()
        with pytest.raises(MemoryError):
            first.result(20)
        second.result(20)

    assert sorted(seen) == [1, 2]
    assert list(Event.objects.order_by("sequence").values_list("sequence", flat=True)) == [
        1,
        2,
        3,
        4,
    ]
    assert Session.objects.get().last_sequence == 4


@covers("R165")
@poses("C26")
def test_law_4_a_stale_token_changes_no_row(store: Store) -> None:
    """Commit, finish, failure and renewal of a superseded owner change nothing (C26, R165)."""
    store.submit(store.session())
    first = store.join(host())
    stale = store.claim(first)
    store.die(first)
    store.claim()
    before = everything()

    assert store.commit(stale, frame=FRAME) == Lost()
    assert store.finish(stale) == Lost()
    assert store.fail(stale) == Lost()
    assert store.commit(stale, Park()) == Lost()
    answers = store.backend.renew(first.host_id, [(stale.thread_pk, stale.token)])

    assert answers == {(stale.thread_pk, stale.token): "superseded"}
    assert everything() == before


def test_law_4_tokens_differ_even_when_a_counter_repeats(store: Store) -> None:
    """A counter set back by a restored database still gives a token that was never issued (I6)."""
    store.submit(store.session("a"), "r1")
    store.submit(store.session("b"), "r1")
    one, other = store.backend.claim(store.host, limit=2)

    assert one.token.split(".")[0] == other.token.split(".")[0]
    assert one.token != other.token


@covers("R170")
@poses("C25")
def test_law_5_the_database_clock_decides_leases_and_backoff(store: Store) -> None:
    """A lease and a backoff end by database time, whatever the host's clock says (C25, R170)."""
    turn_id = store.submit(store.session())
    store.fail(store.claim())
    assert store.backend.claim(store.host, limit=1) == []

    with clock.offset(timedelta(seconds=1.1)):
        again = store.claim()
        turn = store.turn(turn_id)
    assert again.turn_id == turn_id
    assert (turn.failures, turn.policy_retries) == (1, 3)


@covers("R069")
def test_law_6_an_outcome_is_stored_before_it_is_applied(store: Store) -> None:
    """An outcome above the checkpoint is given to the next owner for replay.

    With its request digest (R069).
    """
    store.submit(store.session())
    first = store.join(host())
    claim = store.claim(first)
    entry = {"kind": "OUTCOME", "body": {"text": "hi"}, "ordinal": 1, "request_digest": "sha256:1"}
    store.commit(
        claim,
        entries=(entry,),
        model_calls=({"ordinal": 1, "request_digest": "sha256:1", "model": "m"},),
    )

    store.die(first)
    native = store.backend.load(store.claim())

    assert native.frame is None
    assert [(found.ordinal, found.body) for found in native.entries] == [(1, {"text": "hi"})]
    assert not ModelCall.objects.filter(status="LOST").exists()


@poses("S9")
def test_law_6_an_intent_is_stored_with_its_checkpoint_before_anything_is_sent(
    store: Store,
) -> None:
    """From the commit on the outbox knows the call; before it nothing does (S9)."""
    turn_id = store.submit(store.session())
    claim = store.claim()

    store.answered(claim, tool_intent(route="hands"))

    call = store.call(turn_id)
    assert call.deliver_at is not None
    assert call.dispatched_at is None
    assert Checkpoint.objects.get().at == call.intended_at


@covers("R068")
def test_law_6_a_request_that_died_stands_as_lost(store: Store) -> None:
    """An owner that dies in a model call leaves one LOST call with unknown counts (R068)."""
    turn_id = store.submit(store.session())
    first = store.join(host())
    store.claim(first)

    store.die(first)
    again = store.claim()
    store.answered(again)

    calls = list(
        ModelCall.objects.filter(turn=turn_id)
        .order_by("attempt")
        .values_list("status", "attempt", "requests")
    )
    assert calls == [("LOST", 1, None), ("COMPLETED", 2, 1)]
    assert not store.turn(turn_id).usage_complete


def test_law_7_unknown_is_never_left_by_time_or_retry(store: Store) -> None:
    """An UNKNOWN effect holds its Turn for ten leases and more (I28)."""
    turn_id = store.submit(store.session())
    first = store.join(host())
    store.answered(store.claim(first), tool_intent("once"))
    store.die(first)
    store.backend.claim(store.host, limit=1)

    for seconds in range(4, 320, 4):
        with clock.offset(timedelta(seconds=seconds)):
            store.backend.scan(store.host, own=False)
            assert store.backend.claim(store.host, limit=1) == []
    assert store.call(turn_id).state == CallState.UNKNOWN


def test_law_9_losing_a_race_is_an_answer(store: Store) -> None:
    """Two owners of one Thread: the loser's commit returns Lost and raises nothing."""
    store.submit(store.session())
    first = store.join(host())
    stale = store.claim(first)
    store.die(first)
    winner = store.claim()

    answers = [store.finish(winner), store.finish(stale)]

    assert isinstance(answers[0], Committed)
    assert answers[1] == Lost()
    assert Run.objects.filter(status=RunStatus.COMPLETED).count() == 1
