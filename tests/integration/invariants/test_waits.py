"""Breaches of I35 and I42, planted in what Turns ask people and wait for."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sessions_app.contract.events import EventType
from sessions_app.models import Interaction, ToolCall, Turn, Wait
from sessions_app.store import clock
from sessions_app.store.invariants import check
from tests.integration.invariants.planting import breached, newest, refused, told, unguarded
from tests.integration.waits.scenes import ALLOW, DENY, Scene, gated, ungated, waits_for

if TYPE_CHECKING:
    from tests.stores import Store

pytestmark = pytest.mark.tampers
PAID = "x.shop.paid"


def changed(model: type[Any], scene: Scene, **columns: object) -> str:
    """Change the Turn's only row of this kind past the store; give its id."""
    rows = model.objects.filter(turn=scene.turn_id)
    rows.update(**columns)
    return str(rows.get().pk)


def test_waits_of_every_kind_are_clean(store: Store) -> None:
    """Asked, allowed, begun, refused, expired, signalled, kept and closed."""
    asked = (gated(answerWithin=60.0), gated(1, "hands"), waits_for(PAID, 2, deadline=90.0))
    scenes = [Scene.parked(store, *asked) for _ in range(4)]
    scenes[0].respond(ALLOW, 0)
    scenes[0].respond(ALLOW, 1)
    scenes[1].respond(DENY, 0)
    scenes[1].signal(PAID)
    scenes[2].signal("x.shop.sent")
    Scene.parked(store, ungated(route="manual")).respond("done")
    claim = store.claim(first=store.turn(scenes[0].turn_id).thread_id)
    store.commit(claim, starts=(scenes[0].calls()[0].id,))
    store.fail(claim, retryable=False)

    report = check(quiet=True)
    assert report.is_clean, "\n".join(map(str, report.breaches))
    with clock.offset(timedelta(seconds=61)):
        store.backend.claim(store.host, limit=10)
    report = check()
    assert report.is_clean, "\n".join(map(str, report.breaches))


def test_i35_the_database_lets_nothing_begin_unallowed(store: Store) -> None:
    """Neither a start record nor a delivery."""
    scene = Scene.parked(store, gated(route="hands"))

    for column in ("started_at", "dispatched_at", "deliver_at"):
        with refused():
            changed(ToolCall, scene, **{column: scene.turn.created_at})


@pytest.mark.parametrize("column", ["started_at", "dispatched_at", "deliver_at"])
def test_i35_nothing_begins_before_its_approval_is_used_up(store: Store, column: str) -> None:
    """A call that began, or may have left, under an open question is named."""
    scene = Scene.parked(store, gated(route="hands"))
    with unguarded(ToolCall, "call_begins_when_allowed"):
        name = changed(ToolCall, scene, **{column: scene.turn.created_at})

        assert any(f"{name}: it began" in line for line in breached()[35])


def test_i35_an_allowance_is_a_decision(store: Store) -> None:
    """A call that may begin although nobody decided so is named."""
    scene = Scene.parked(store, gated())
    name = changed(ToolCall, scene, allowed_at=scene.turn.created_at)

    assert any(f"{name}: it may begin" in line for line in breached()[35])


def test_i35_a_decision_is_for_these_arguments(store: Store) -> None:
    """An interaction of another digest than its call's is named."""
    scene = Scene.parked(store, gated())
    name = changed(Interaction, scene, arguments_digest="sha256:0")

    assert any(f"{name}: it was decided for other" in line for line in breached()[35])


def test_i35_a_decision_has_somebody_who_made_it(store: Store) -> None:
    """An answer of no request and no rule is named."""
    scene = Scene.parked(store, gated())
    scene.respond(ALLOW)
    name = changed(Interaction, scene, request_id=None)

    assert any(f"{name}: it is ANSWERED" in line for line in breached()[35])


def test_i35_an_interaction_has_one_decision(store: Store) -> None:
    """A second resolution in the timeline is named."""
    scene = Scene.parked(store, gated())
    scene.respond(ALLOW)
    told(
        scene.turn,
        EventType.INTERACTION_RESOLVED,
        newest(scene.turn, EventType.INTERACTION_RESOLVED).payload,
    )

    assert any("resolved a second time" in line for line in breached()[35])


@pytest.mark.parametrize(
    ("model", "columns", "text"),
    [
        (ToolCall, {"state": "NOT_EXECUTED"}, "somebody is asked about"),
        (Interaction, {"status": "CLOSED"}, "nobody is asked about it"),
        (Turn, {"wait_deadline": None}, "it wakes for a deadline at None"),
    ],
    ids=["settled", "closed", "deadline"],
)
def test_i42_a_question_is_open_while_its_call_is(
    store: Store, model: type[Any], columns: dict[str, object], text: str
) -> None:
    """A question without its call, a call without its question, a wrong deadline are named."""
    scene = Scene.parked(store, gated(answerWithin=60.0))
    rows = Turn.objects.filter(pk=scene.turn_id) if model is Turn else None
    if rows is not None:
        rows.update(**columns)
    else:
        changed(model, scene, **columns)

    assert any(text in line for line in breached(quiet=True)[42])


@pytest.mark.parametrize(
    ("model", "columns", "text"),
    [
        (ToolCall, {"state": "NOT_EXECUTED"}, "x.shop.paid is waited for"),
        (Wait, {"status": "CLOSED", "ended_at": "2026-01-01T00:00Z"}, "no wait of it is open"),
    ],
    ids=["settled", "closed"],
)
def test_i42_a_wait_is_open_while_its_call_is(
    store: Store, model: type[Any], columns: dict[str, object], text: str
) -> None:
    """A wait without its call and a call without its wait are named."""
    scene = Scene.parked(store, waits_for(PAID))
    changed(model, scene, **columns)

    assert any(text in line for line in breached(quiet=True)[42])


def test_i21_no_wait_opens_or_ends_silently(store: Store) -> None:
    """A wait without its events is named."""
    scene = Scene.parked(store, waits_for(PAID))
    turn = scene.turn
    Wait.objects.create(
        id="wait_1",
        session=turn.session,
        turn=turn,
        key=PAID,
        status="CLOSED",
        opened_at=turn.created_at,
        ended_at=turn.created_at,
    )

    lines = breached()[21]
    assert any("wait.opened" in line for line in lines)
    assert any("wait.ended" in line for line in lines)
