"""Twenty answers at once: one decision, and everybody else is told which (C32, I35)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from sessions_app.contract.errors import Conflict, DurableError, Unavailable
from sessions_app.contract.status import CallState
from sessions_app.models import Event, Message
from sessions_app.store import controls
from tests.covers import covers, poses
from tests.integration.waits.scenes import ALLOW, DENY, Scene, gated

if TYPE_CHECKING:
    from tests.stores import Store

CLICKS = 20


def click(scene: Scene, answers: list[bool], requests: list[str]) -> list[Any]:
    """Answer on many threads at once; give each receipt or error, in the order of the answers."""

    def one(answer: bool, request: str) -> Any:
        try:
            return _told(scene, answer, request)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as browsers:
        return list(browsers.map(one, answers, requests))


def _told(scene: Scene, answer: bool, request: str) -> Any:
    """A receipt or a refusal; a busy Session is asked again with the same request."""
    while True:
        try:
            return scene.respond(answer, request=request)
        except Unavailable:
            continue
        except DurableError as refused:
            return refused


@covers("R144")
@poses("C32")
@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize(
    "answers",
    [[ALLOW] * CLICKS, [DENY] * CLICKS, [ALLOW, DENY] * (CLICKS // 2)],
    ids=["all-allow", "all-deny", "mixed"],
)
def test_many_answers_are_one_decision(store: Store, answers: list[bool], paused: bool) -> None:
    """The losers' conflict names what was decided; one event, one message, one call to match."""
    scene = Scene.parked(store, gated(route="hands"))
    if paused:
        controls.pause(scene.key, scene.turn_id, "hold")

    told = click(scene, answers, [f"click-{n}" for n in range(CLICKS)])

    won = [receipt for receipt in told if not isinstance(receipt, DurableError)]
    assert [type(each) for each in told if each not in won] == [Conflict] * (CLICKS - 1)
    (decided,) = [receipt.outcome for receipt in won]
    assert all(f"already: {decided}" in str(each) for each in told if each not in won)
    assert Event.objects.filter(type="interaction.resolved").count() == 1
    assert Message.objects.filter(input_kind="respond").count() == 1
    (call,) = scene.calls()
    assert (call.state == CallState.DENIED) == (decided == "deny")
    assert (call.deliver_at is not None) == (decided == "allow" and not paused)


def test_one_request_repeated_at_once_is_one_receipt(store: Store) -> None:
    """A client that clicked twice and says so gets the same answer each time."""
    scene = Scene.parked(store, gated())

    told = click(scene, [ALLOW] * CLICKS, ["click"] * CLICKS)

    assert told == [told[0]] * CLICKS
    assert told[0].outcome == "allow"


@poses("C32")
def test_answers_race_a_cancel_and_nothing_begins_after_it(store: Store) -> None:
    """Whoever comes first is recorded; after the cancel no call leaves (I13)."""
    scene = Scene.parked(store, gated(route="hands"))

    with ThreadPoolExecutor(1) as operator:
        cancelling = operator.submit(_cancel, scene)
        click(scene, [ALLOW] * 5, [f"click-{n}" for n in range(5)])
        cancelling.result()

    (call,), (question,) = scene.calls(), scene.asked()
    if question.status == "CLOSED":
        assert (call.state, call.deliver_at) == (CallState.NOT_EXECUTED, None)
    else:
        assert call.cancel_requested_at is not None
        assert question.answered_at is not None
        assert question.answered_at <= call.cancel_requested_at


def _cancel(scene: Scene) -> None:
    try:
        controls.cancel(scene.key, scene.turn_id, "stop")
    finally:
        connections.close_all()
