"""Answers and results while a Turn is paused: recorded, and nothing advances (R049 to R052)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.backend import Park
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Run
from sessions_app.store import controls
from sessions_app.store.outbox import StoreOutbox
from tests.covers import covers, poses
from tests.integration.waits.scenes import ALLOW, DENY, Scene, gated, ungated, waits_for
from tests.stores import Store, host, tool_intent

if TYPE_CHECKING:
    from sessions_app.contract.views import Receipt


def paused(store: Store, *intents: object) -> Scene:
    """Give a Turn that was paused while it waited."""
    scene = Scene.parked(store, *intents)  # type: ignore[arg-type]  # intents of the scenes
    controls.pause(scene.key, scene.turn_id, "hold")
    return scene


def resume(scene: Scene) -> Receipt:
    """Lift the pause that is seen."""
    return controls.resume(scene.key, scene.turn_id, "go-on", scene.turn.revision)


@covers("R050")
def test_an_answer_in_a_pause_is_recorded_and_advances_nothing(store: Store) -> None:
    """Neither a Run nor an effect comes of it before the resume."""
    scene = paused(store, gated(), gated(1, "hands"), gated(2))

    scene.respond(ALLOW, place=0)
    scene.respond(ALLOW, place=1)
    scene.respond(DENY, place=2)

    assert [asked.status for asked in scene.asked()] == ["ANSWERED", "ANSWERED", "CONSUMED"]
    assert scene.turn.status == TurnStatus.PAUSED
    assert store.backend.claim(store.host, limit=1) == []
    assert StoreOutbox().take(10) == []


@covers("R052")
def test_a_resume_sends_what_was_allowed_and_runs_nothing_for_it(store: Store) -> None:
    """The next look hands the call to its pool; the Turn waits on without a Run."""
    scene = paused(store, gated(0, "hands"))
    scene.respond(ALLOW)

    resume(scene)
    assert store.backend.claim(store.host, limit=1) == []

    (call,), (asked,) = scene.calls(), scene.asked()
    assert [sent.execution_id for sent in StoreOutbox().take(10)] == [call.id]
    assert (asked.status, scene.turn.reason) == ("CONSUMED", WaitReason.TOOL)
    assert Run.objects.filter(turn=scene.turn_id).count() == 1


def test_a_resume_runs_the_local_call_that_was_allowed(store: Store) -> None:
    """It may begin, so the Turn is due."""
    scene = paused(store, gated())
    scene.respond(ALLOW)

    resume(scene)

    assert store.claim().turn_id == scene.turn_id


@covers("R052")
def test_a_resume_answers_no_question_and_ends_no_wait(store: Store) -> None:
    """It lifts the pause only: approval and signal still hold."""
    scene = paused(store, gated(), waits_for("x.shop.paid", 1))

    resume(scene)

    assert (scene.turn.status, scene.turn.reason) == (TurnStatus.WAITING, WaitReason.INTERACTION)
    assert store.backend.claim(store.host, limit=1) == []
    assert [call.state for call in scene.calls()] == ["INTENDED", "INTENDED"]


def test_a_signal_in_a_pause_is_recorded(store: Store) -> None:
    """The call is settled, and the Turn goes on after the resume."""
    scene = paused(store, waits_for("x.shop.paid"))

    scene.signal("x.shop.paid", 5)
    assert store.backend.claim(store.host, limit=1) == []
    resume(scene)

    assert scene.calls()[0].state == CallState.COMPLETED
    assert store.claim().turn_id == scene.turn_id


@covers("R049")
def test_what_was_dispatched_goes_on_in_a_pause(store: Store) -> None:
    """It is asked about as before; only new work waits for the resume."""
    scene = paused(store, ungated(0, "hands"))

    (sent,) = StoreOutbox().take(10)

    assert sent.sent == "execute"
    assert sent.execution_id == scene.calls()[0].id


@poses("C32")
def test_an_answer_to_a_pausing_turn_waits_for_the_resume(store: Store) -> None:
    """Its owner stops at the next boundary; what was allowed is sent after the resume only."""
    scene = Scene.running(store, gated(0, "hands"))
    controls.pause(scene.key, scene.turn_id, "hold")
    assert scene.turn.status == TurnStatus.PAUSING

    scene.respond(ALLOW)
    store.commit(scene.claim, Park())

    assert scene.turn.status == TurnStatus.PAUSED
    assert StoreOutbox().take(10) == []
    resume(scene)
    store.backend.claim(store.host, limit=1)
    assert len(StoreOutbox().take(10)) == 1


@poses("S2")
def test_a_resume_repeats_what_a_dead_process_had_begun(store: Store) -> None:
    """A pause that its next owner met first leaves a harmless call begun and without an outcome."""
    dead = store.join(host())
    turn_id = store.submit(store.session("waits-repeat"))
    claim = store.claim(dead)
    store.answered(claim, tool_intent("read"))
    store.die(dead)
    taken_over = store.claim()
    controls.pause(claim.key, turn_id, "hold")
    store.commit(taken_over, Park())

    controls.resume(claim.key, turn_id, "go-on", store.turn(turn_id).revision)

    assert store.claim().turn_id == turn_id
