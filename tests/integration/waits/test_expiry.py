"""Deadlines of questions: the database's time closes them and wakes the Turn (4.1 row 26)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Conflict
from sessions_app.contract.status import CallState, TurnStatus
from sessions_app.models import Event, Run
from sessions_app.store import asked, clock, controls
from tests.integration.waits.scenes import ALLOW, Scene, gated, ungated

if TYPE_CHECKING:
    from tests.stores import Store

MINUTE = timedelta(seconds=60)
LATER = timedelta(seconds=61)


def test_the_turns_deadline_is_the_earliest_of_what_is_open(store: Store) -> None:
    """It moves on with each answer, and is gone with the last."""
    scene = Scene.parked(
        store, gated(answerWithin=60.0), gated(1, answerWithin=30.0), ungated(2, "manual")
    )
    first, second, _ = scene.asked()
    assert scene.turn.wait_deadline == second.expires_at

    scene.respond(ALLOW, place=1)
    assert scene.turn.wait_deadline == first.expires_at
    scene.respond(ALLOW, place=0)

    assert scene.turn.wait_deadline is None


@pytest.mark.parametrize("kind", ["approval", "manual"])
def test_an_unanswered_question_is_a_refusal(store: Store, kind: str) -> None:
    """The call is denied as expired; the Turn is claimed at the deadline and not before."""
    intent = gated(answerWithin=60.0) if kind == "approval" else ungated(0, "manual", deadline=60.0)
    scene = Scene.parked(store, intent)
    assert store.thread(scene.claim).wake_at == scene.asked()[0].expires_at

    with clock.offset(LATER):
        claim = store.claim()

    (question,), (call,) = scene.asked(), scene.calls()
    assert claim.turn_id == scene.turn_id
    assert (question.status, call.state, call.error_code) == ("EXPIRED", "DENIED", "EXPIRED")
    assert Event.objects.get(type="interaction.resolved").payload["status"] == "EXPIRED"


@pytest.mark.parametrize("looked", [False, True])
def test_a_late_answer_is_refused(store: Store, looked: bool) -> None:
    """CONFLICT that names the expiry, whether or not somebody closed it before."""
    scene = Scene.parked(store, gated(answerWithin=60.0))

    with clock.offset(LATER):
        if looked:
            store.claim()
        with pytest.raises(Conflict, match="expired"):
            scene.respond(ALLOW)

    assert scene.calls()[0].allowed_at is None


def test_a_late_answer_to_a_turn_that_ended_names_the_expiry(store: Store) -> None:
    """A person who comes too late learns why nobody wants the answer, not how the Turn ended."""
    scene = Scene.parked(store, gated(answerWithin=60.0))

    with clock.offset(LATER):
        store.claim()
        controls.cancel(scene.key, scene.turn_id, "stop")
        with pytest.raises(Conflict, match="expired"):
            scene.respond(ALLOW)


def test_an_expired_question_is_not_pending(store: Store) -> None:
    """Nobody is shown what cannot be answered any more."""
    scene = Scene.parked(store, gated(answerWithin=60.0))
    assert len(scene.pending()) == 1

    with clock.offset(LATER):
        assert scene.pending() == []
        assert asked.inbox("acme").items == ()


def test_an_expiry_beside_an_open_question_makes_no_empty_run(store: Store) -> None:
    """One of two was not answered in time; the other is still waited for (S2)."""
    scene = Scene.parked(store, gated(answerWithin=60.0), gated(1))

    with clock.offset(LATER):
        assert store.backend.claim(store.host, limit=1) == []

    assert [question.status for question in scene.asked()] == ["EXPIRED", "OPEN"]
    assert Run.objects.filter(turn=scene.turn_id).count() == 1
    assert store.thread(scene.claim).wake_at is None


def test_an_expiry_in_a_pause_is_recorded_and_advances_nothing(store: Store) -> None:
    """The deadline passes by the database's time, the pause holds (R050)."""
    scene = Scene.parked(store, gated(answerWithin=60.0))
    controls.pause(scene.key, scene.turn_id, "hold")

    with clock.offset(LATER):
        assert store.backend.claim(store.host, limit=1) == []

    assert scene.asked()[0].status == "EXPIRED"
    assert scene.calls()[0].state == CallState.DENIED
    assert (scene.turn.status, store.thread(scene.claim).wake_at) == (TurnStatus.PAUSED, None)


def test_a_deadline_begins_no_run_in_backoff(store: Store) -> None:
    """What expired is closed, the next try keeps its time (I9)."""
    scene = Scene.running(store, gated(answerWithin=0.4))
    store.fail(scene.claim)
    retry_at = scene.turn.retry_at

    with clock.offset(timedelta(seconds=0.6)):
        assert store.backend.claim(store.host, limit=1) == []

    assert scene.asked()[0].status == "EXPIRED"
    assert store.thread(scene.claim).wake_at == retry_at
