"""What people are shown: pending in a Turn, and over a namespace; setting aside (R145)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Conflict
from sessions_app.models import AuditEntry, Event
from sessions_app.store import asked, interactions
from tests.covers import covers, poses
from tests.integration.waits.scenes import ALLOW, Scene, gated, ungated
from tests.stores import FRAME

if TYPE_CHECKING:
    from sessions_app.contract.views import Receipt
    from tests.stores import Store


def set_aside(scene: Scene, place: int = 0, request: str = "later") -> Receipt:
    """Put a question off."""
    name = scene.asked()[place].id
    return interactions.set_aside(scene.key, scene.turn_id, request, name, "eve", "ask bob")


@covers("R145")
def test_pending_interactions_of_a_turn_show_what_is_asked(store: Store) -> None:
    """The exact arguments with their digest, and how far the call has come."""
    scene = Scene.parked(
        store, gated(risk="high", assignee="finance"), ungated(1, "manual"), ungated(2, "hands")
    )

    first, second = scene.pending()

    assert (first.kind, first.tool, first.arguments) == ("APPROVAL", "tool-0", {"x": 0})
    assert (first.risk, first.assignee, first.call_state) == ("high", "finance", "INTENDED")
    assert (second.kind, second.status, second.risk) == ("MANUAL", "OPEN", "once")
    assert first.allowed_at is None


@poses("C33")
def test_a_view_tells_how_far_a_call_has_come(store: Store) -> None:
    """Pending, allowed, started, received and applied are facts of their own (C33, R080)."""
    scene = Scene.parked(store, gated())
    call = scene.calls()[0].id
    came = [_facts(scene)]

    scene.respond(ALLOW)
    came.append(_facts(scene))
    claim = store.claim()
    store.commit(claim, starts=(call,))
    came.append(_facts(scene))
    store.commit(claim, results=({"execution_id": call, "state": "COMPLETED", "content": 1},))
    came.append(_facts(scene))
    store.commit(claim, applied=(call,), frame=FRAME)
    came.append(_facts(scene))

    assert came == [
        ("OPEN", "INTENDED", 0),
        ("ANSWERED", "INTENDED", 1),
        ("CONSUMED", "STARTED", 2),
        ("CONSUMED", "COMPLETED", 3),
        ("CONSUMED", "COMPLETED", 4),
    ]
    assert scene.pending() == []


def _facts(scene: Scene) -> tuple[str, str, int]:
    """Where question and call stand, and how many of the call's moments have come, in order."""
    (view,) = asked.of_turn(scene.turn_id).items
    moments = (view.allowed_at, view.started_at, view.received_at, view.applied_at)
    came = [moment for moment in moments if moment is not None]
    assert list(moments[: len(came)]) == came == sorted(came)
    return view.status, view.call_state, len(came)


def test_the_inbox_is_a_namespaces_own_and_goes_by_pages(store: Store) -> None:
    """Keyset pages over all its Sessions, and nothing of another namespace."""
    mine = [Scene.parked(store, gated()) for _ in range(3)]
    Scene.parked(store, gated(), session=store.session("theirs", "other"))

    first = asked.inbox("acme", limit=2)
    second = asked.inbox("acme", first.next_cursor, limit=2)

    shown = [view.turn_id for view in (*first.items, *second.items)]
    assert shown == [scene.turn_id for scene in mine]
    assert second.next_cursor is None


def test_what_is_set_aside_stays_open_and_is_listed_apart(store: Store) -> None:
    """Said by an event, put on record, and answered as any other."""
    scene = Scene.parked(store, gated())

    receipt = set_aside(scene)

    (question,) = scene.asked()
    assert (receipt.outcome, question.status, question.set_aside_by) == (
        "set-aside",
        "OPEN",
        "eve",
    )
    assert asked.inbox("acme").items == ()
    assert [v.interaction_id for v in asked.inbox("acme", set_aside=True).items] == [question.id]
    assert Event.objects.get(type="interaction.set-aside").payload["reason"] == "ask bob"
    assert AuditEntry.objects.get(target=question.id).reason == "ask bob"
    assert len(scene.pending()) == 1
    assert scene.respond(ALLOW).outcome == "allow"


def test_what_was_decided_cannot_be_set_aside(store: Store) -> None:
    """A conflict that names the decision."""
    scene = Scene.parked(store, gated())
    scene.respond(ALLOW)

    with pytest.raises(Conflict, match="allow"):
        set_aside(scene)
