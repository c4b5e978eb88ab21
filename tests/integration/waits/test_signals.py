"""Signals by name and the waits that they end (R146, R147, 4.1 row 26)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import Park, WaitDraft
from sessions_app.contract.errors import Closed, Invalid
from sessions_app.contract.identity import checked_key
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Event, Run, Signal, Wait
from sessions_app.store import clock
from tests.covers import covers
from tests.integration.waits.scenes import Scene, waits_for

if TYPE_CHECKING:
    from tests.stores import Store

PAID = "x.shop.paid"


def in_seconds(seconds: float) -> int:
    """An absolute deadline in milliseconds."""
    return round((clock.now() + timedelta(seconds=seconds)).timestamp() * 1000)


@pytest.mark.parametrize("key", ["x.shop.paid", "x.a-b.c_d.4711", "x." + "a" * 63 + "." + "b" * 62])
def test_an_extension_key_is_taken(key: str) -> None:
    """Two words behind the x, or more."""
    assert checked_key(key) == key


@covers("R147")
@pytest.mark.parametrize("key", ["", "paid", "x.paid", "y.shop.paid", "x..paid", "x.a.b ", 7])
def test_other_keys_are_refused(key: object) -> None:
    """A word of ours, or of nobody, is no signal."""
    with pytest.raises(Invalid, match=r"x\.<ns>\.<name>"):
        checked_key(key)


def test_a_signal_settles_the_call_that_waits_for_it(store: Store) -> None:
    """Its content is the result; the Turn is due at once."""
    scene = Scene.parked(store, waits_for(PAID))
    assert (scene.turn.status, scene.turn.reason) == (TurnStatus.WAITING, WaitReason.SIGNAL)

    receipt = scene.signal(PAID, {"amount": 5})

    (call,), (wait,) = scene.calls(), scene.waits()
    assert (call.state, call.result["content"]) == (CallState.COMPLETED, {"amount": 5})
    assert (receipt.outcome, receipt.subject) == ("matched", wait.signal_id)
    assert (wait.status, Signal.objects.get().status) == ("SIGNALLED", "APPLIED")
    assert store.claim().turn_id == scene.turn_id


def test_a_signal_of_another_key_is_kept_and_wakes_nobody(store: Store) -> None:
    """It stays until a wait opens for it."""
    scene = Scene.parked(store, waits_for(PAID))

    assert scene.signal("x.shop.sent").outcome == "kept"

    assert store.backend.claim(store.host, limit=1) == []
    assert scene.calls()[0].state == CallState.INTENDED


def test_a_signal_that_came_first_matches_when_the_wait_opens(store: Store) -> None:
    """Oldest first, each once (S25)."""
    scene = Scene.running(store)
    scene.signal(PAID, "first")
    scene.signal(PAID, "second")

    store.answered(scene.claim, waits_for(PAID), waits_for(PAID, 1), waits_for(PAID, 2), ordinal=2)

    results = [call.result and call.result["content"] for call in scene.calls()]
    assert results == ["first", "second", None]


@pytest.mark.parametrize("asks", [True, False], ids=["gated", "at-once"])
def test_the_key_of_a_call_does_not_hang_on_how_its_arguments_were_written(
    store: Store, *, asks: bool
) -> None:
    """Whether it opens with the call or after an approval, from the row: by argument name."""
    written = {"arguments": {"shop": "one", "order": "4711"}, "needs_approval": asks}
    scene = Scene.parked(store, waits_for(PAID).model_copy(update=written))

    if asks:
        scene.respond(response=True)

    assert [wait.key for wait in scene.waits()] == [f"{PAID}.4711.one"]


def test_one_signal_ends_one_wait(store: Store) -> None:
    """The oldest of its key."""
    scene = Scene.parked(store, waits_for(PAID), waits_for(PAID, 1))

    scene.signal(PAID, 1)

    assert [call.state for call in scene.calls()] == ["COMPLETED", "INTENDED"]
    assert scene.turn.reason == WaitReason.SIGNAL


def test_arguments_narrow_the_key(store: Store) -> None:
    """Two waits of one tool are told apart by what the model asked for."""
    intent = waits_for(PAID).model_copy(update={"arguments": {"order": "4711"}})
    scene = Scene.parked(store, intent)

    scene.signal(PAID)
    assert scene.waits()[0].key == "x.shop.paid.4711"
    scene.signal("x.shop.paid.4711", "ok")

    assert scene.calls()[0].result["content"] == "ok"


def test_a_key_that_cannot_be_is_an_error_result(store: Store) -> None:
    """The model reads it; nobody waits for what cannot come."""
    scene = Scene.parked(
        store, waits_for(PAID).model_copy(update={"arguments": {"order": "no such key"}})
    )

    (call,) = scene.calls()
    assert (call.state, call.error_code) == (CallState.FAILED, "INVALID_KEY")
    assert scene.waits() == []


def test_a_wait_past_its_deadline_is_an_error_result(store: Store) -> None:
    """The database's time wakes the Turn; the call says that nothing came."""
    scene = Scene.parked(store, waits_for(PAID, deadline=60.0))
    assert store.backend.claim(store.host, limit=1) == []

    with clock.offset(timedelta(seconds=61)):
        claim = store.claim()

    (call,), (wait,) = scene.calls(), scene.waits()
    assert claim.turn_id == scene.turn_id
    assert (call.state, call.error_code, wait.status) == (CallState.FAILED, "EXPIRED", "EXPIRED")
    assert scene.turn.wait_deadline is None


def test_a_signal_after_the_deadline_does_not_end_the_wait(store: Store) -> None:
    """The deadline came first, whoever looked; the signal is kept."""
    scene = Scene.parked(store, waits_for(PAID, deadline=60.0))

    with clock.offset(timedelta(seconds=61)):
        receipt = scene.signal(PAID)

    assert receipt.outcome == "kept"
    assert scene.calls()[0].error_code == "EXPIRED"


def test_an_ended_turn_takes_no_signal(store: Store) -> None:
    """CLOSED, and what nobody took in is closed with the Turn, by an event."""
    scene = Scene.running(store)
    scene.signal(PAID)
    store.finish(scene.claim)

    with pytest.raises(Closed, match="submit a new turn"):
        scene.signal(PAID)

    (signal,) = Signal.objects.all()
    told = Event.objects.get(type="signal.closed")
    assert (signal.status, told.payload["signalId"]) == ("CLOSED", signal.id)


@covers("R146")
def test_an_adapter_may_commit_many_wait_conditions(store: Store) -> None:
    """Key and absolute deadline in ms, zero for signal only; a repeated park opens none twice."""
    drafts = (WaitDraft(key=PAID, deadline_ms=in_seconds(60)), WaitDraft(key="x.shop.sent"))

    scene = Scene.parked(store, waits=drafts)

    paid, sent = scene.waits()
    assert (scene.turn.status, scene.turn.reason) == (TurnStatus.WAITING, WaitReason.SIGNAL)
    assert scene.turn.wait_deadline == paid.deadline_at
    assert sent.deadline_at is None
    scene.signal("x.shop.sent", 1)
    store.commit(store.claim(), Park(waits=drafts))
    assert Wait.objects.filter(turn=scene.turn_id, status="OPEN", key=PAID).count() == 1


def test_a_matched_condition_is_an_input_with_its_key(store: Store) -> None:
    """The adapter reads it at its next boundary and commits it as applied."""
    scene = Scene.parked(store, waits=(WaitDraft(key=PAID),))
    scene.signal(PAID, {"amount": 5})

    claim = store.claim()
    (given,) = store.backend.load(claim).inputs

    assert given.key == PAID
    assert given.content == {"key": PAID, "content": {"amount": 5}}
    store.commit(claim, inputs_applied=(given.signal_id,))
    assert Signal.objects.get().status == "APPLIED"


def test_an_expired_condition_is_an_input_too(store: Store) -> None:
    """A signal of the deadline's own says so (4.1 row 26)."""
    scene = Scene.parked(store, waits=(WaitDraft(key=PAID, deadline_ms=in_seconds(60)),))

    with clock.offset(timedelta(seconds=61)):
        claim = store.claim()
        (given,) = store.backend.load(claim).inputs

    assert (given.key, given.content) == (PAID, {"key": PAID, "expired": True})
    assert scene.waits()[0].signal_id == given.signal_id


def test_a_deadline_beside_another_wait_makes_no_empty_run(store: Store) -> None:
    """One of two calls expired: nothing can go on yet, so nobody is claimed (S2)."""
    scene = Scene.parked(store, waits_for(PAID, deadline=60.0), waits_for("x.shop.sent", 1))

    with clock.offset(timedelta(seconds=61)):
        assert store.backend.claim(store.host, limit=1) == []
        assert store.backend.claim(store.host, limit=1) == []

    assert [call.state for call in scene.calls()] == ["FAILED", "INTENDED"]
    assert Run.objects.filter(turn=scene.turn_id).count() == 1
    assert store.thread(scene.claim).wake_at is None
