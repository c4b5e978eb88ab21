"""Retries of a Turn: by the policy of its first failure, in database time, come what may."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from sessions_app.contract.content import user_input
from sessions_app.contract.events import EventType
from sessions_app.contract.status import RunStatus, TurnStatus, WaitReason
from sessions_app.models import Event, Run, Thread
from sessions_app.store import clock, controls
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.stores import Store, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sessions_app.contract.identity import SessionKey
    from sessions_app.models import Turn

JUST_BEFORE = timedelta(milliseconds=250)


@contextmanager
def when(moment: datetime | None, early: timedelta = timedelta(0)) -> Iterator[None]:
    """Have the database believe that it is this moment, or a little before it."""
    assert moment is not None
    with clock.offset(moment - early - datetime.now(UTC)):
        yield


def nothing(_store: Store, _key: SessionKey, _turn: Turn) -> None:
    """Let the backoff pass."""


def kill(store: Store, _key: SessionKey, _turn: Turn) -> None:
    """The host that failed dies during the backoff."""
    former, store.host = store.host, store.join(host())
    store.die(former)


def reconfigure(_store: Store, _key: SessionKey, _turn: Turn) -> None:
    """The next host has another policy."""
    changed = {"retries": 9, "first_seconds": 0.001, "cap_seconds": 0.002}
    settings.DURABLE = {**settings.DURABLE, "RECOVERY": changed}


def pause_and_resume(store: Store, key: SessionKey, turn: Turn) -> None:
    """A person stops the Turn and lets it go again."""
    controls.pause(key.thread(), turn.id, f"p{turn.failures}")
    paused = store.turn(turn.id)
    controls.resume(key.thread(), turn.id, f"resume-{turn.failures}", paused.revision)


def steer(_store: Store, key: SessionKey, turn: Turn) -> None:
    """An input arrives."""
    controls.steer(key.thread(), turn.id, f"s{turn.failures}", user_input("hurry"))


MEANWHILE = [nothing, kill, reconfigure, pause_and_resume, steer]


@covers("R151", "R153", "R154")
@poses("C43")
@pytest.mark.parametrize("meanwhile", MEANWHILE, ids=lambda happens: happens.__name__)
def test_nothing_resets_the_count_or_shortens_the_wait(
    store: Store, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Store, Any, Any], None]
) -> None:
    """Four attempts in all, none before its stored time, then FAILED once, by the first policy."""
    monkeypatch.setattr(settings, "DURABLE", settings.DURABLE)  # put back at the end
    key = store.session()
    turn_id = store.submit(key)
    store.fail(store.claim())
    waits = []
    for failures in (1, 2, 3):
        turn = store.turn(turn_id)
        failed_at = Run.objects.get(turn=turn_id, ordinal=failures).ended_at
        assert (turn.status, turn.reason, turn.failures) == ("WAITING", "backoff", failures)
        assert turn.retry_at is not None
        assert failed_at is not None
        waits.append((turn.retry_at - failed_at).total_seconds())
        with when(failed_at + timedelta(milliseconds=10)):
            meanwhile(store, key, turn)
        with when(turn.retry_at, JUST_BEFORE):
            assert store.backend.claim(store.host, limit=1) == []
        with when(turn.retry_at):
            store.fail(store.claim())

    turn = store.turn(turn_id)
    assert waits == [1.0, 2.0, 4.0]
    assert (turn.status, turn.failures, turn.policy_retries) == (TurnStatus.FAILED, 4, 3)
    assert Run.objects.filter(turn=turn_id).count() == 4
    assert check().is_clean


@covers("R155")
def test_each_failure_is_told_with_its_next_try(store: Store) -> None:
    """`turn.recovery` names count, policy, class and time; the last one names no next try."""
    turn_id = store.submit(store.session())
    store.fail(store.claim())
    first = store.turn(turn_id).retry_at
    with when(first):
        store.fail(store.claim(), retryable=False)

    told = Event.objects.filter(turn_id=turn_id, type=EventType.TURN_RECOVERY).order_by("sequence")
    payloads = list(told.values_list("payload", flat=True))
    assert first is not None
    assert [(p["failures"], p["retries"], p["nextTryAt"]) for p in payloads] == [
        (1, 3, first.isoformat()),
        (2, 3, None),
    ]
    assert {(p["errorClass"], p["errorCode"]) for p in payloads} == {("ProviderError", "HTTP_503")}


def test_a_pause_comes_before_recovery_and_the_wait_holds_after_it(store: Store) -> None:
    """Failed while PAUSING it is PAUSED, claimed by nobody; resumed early it still waits (R054)."""
    key = store.session()
    turn_id = store.submit(key)
    claim = store.claim()
    controls.pause(key.thread(), turn_id, "p1")
    store.fail(claim)
    paused = store.turn(turn_id)
    with when(paused.retry_at):
        assert store.backend.claim(store.host, limit=1) == []

    controls.resume(key.thread(), turn_id, "resume", paused.revision)

    turn = store.turn(turn_id)
    assert paused.status == TurnStatus.PAUSED
    assert (turn.status, turn.reason, turn.retry_at) == ("WAITING", "backoff", paused.retry_at)
    with when(turn.retry_at, JUST_BEFORE):
        assert store.backend.claim(store.host, limit=1) == []
    with when(turn.retry_at):
        assert store.claim().turn_id == turn_id


def test_a_cancel_does_not_wait_for_the_next_try(store: Store) -> None:
    """It skips the backoff in order to settle, and is no failure (R054)."""
    key = store.session()
    turn_id = store.submit(key)
    claim = store.claim()
    store.answered(claim)
    store.fail(claim)

    controls.cancel(key.thread(), turn_id, "c1")
    settling = store.claim()

    assert settling.settling
    store.fail(settling, retryable=False)
    turn = store.turn(turn_id)
    assert (turn.status, turn.failures) == (TurnStatus.CANCELLED, 1)
    assert check().is_clean


def test_a_result_in_the_midst_of_a_backoff_does_not_shorten_it(store: Store) -> None:
    """The Turn is looked at when its next try is due, and has the result then (R154)."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    store.answered(claim, tool_intent("idempotent"))
    call = store.call(turn_id)
    done = {"execution_id": call.id, "state": "COMPLETED", "content": 1}

    store.commit(claim, results=(done,))
    store.fail(claim)

    turn = store.turn(turn_id)
    assert Thread.objects.get().wake_at == turn.retry_at
    with when(turn.retry_at):
        native = store.backend.load(store.claim())
    assert [(known.state, known.applied) for known in native.calls] == [("COMPLETED", False)]


@covers("R162")
def test_death_and_hand_over_add_nothing_to_the_count(store: Store) -> None:
    """A Turn that failed once has failed once, however many hosts die or leave after that (I9)."""
    turn_id = store.submit(store.session())
    store.fail(store.claim())
    with when(store.turn(turn_id).retry_at):
        dying = store.join(host())
        store.claim(dying)
        store.die(dying)
        leaving = store.claim()
        store.commit(leaving, {"kind": "hand-over", "reason": "drain"})  # type: ignore[arg-type]  # pydantic makes it one
        again = store.claim()
        store.finish(again)

    turn = store.turn(turn_id)
    assert (turn.status, turn.failures, turn.takeovers) == (TurnStatus.COMPLETED, 1, 1)
    assert list(Run.objects.order_by("ordinal").values_list("status", flat=True)) == [
        RunStatus.FAILED,
        RunStatus.LOST,
        RunStatus.HANDED_OVER,
        RunStatus.COMPLETED,
    ]


def test_an_unknown_effect_is_not_repeated_by_a_retry(store: Store) -> None:
    """A retryable failure beside an UNKNOWN call: no Run begins when the wait is over (R156)."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    store.answered(claim, tool_intent("once"))
    unknown = {"execution_id": store.call(turn_id).id, "state": "UNKNOWN"}
    store.commit(claim, results=(unknown,))
    store.fail(claim)

    with when(store.turn(turn_id).retry_at):
        assert store.backend.claim(store.host, limit=1) == []

    turn = store.turn(turn_id)
    assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN)
    assert Run.objects.filter(turn=turn_id).count() == 1
