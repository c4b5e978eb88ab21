"""Answers, signals and rules on the Python API, blocking and awaited (R017, R144, R145)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from asgiref.sync import sync_to_async

from sessions_app.contract.errors import Invalid, NotFound
from sessions_app.contract.status import TurnStatus
from sessions_app.runtime import DurableRuntime, TurnHandle
from tests.covers import covers
from tests.integration.waits.scenes import Scene, gated, ungated, waits_for

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from tests.stores import Store

PAID = "x.shop.paid"


def handle(scene: Scene) -> TurnHandle:
    """The Turn as an application holds it."""
    return DurableRuntime().find_turn(scene.turn_id)


@covers("R017", "R145")
def test_a_turn_is_answered_through_its_handle(store: Store) -> None:
    """What is pending, the answer, and what became of it."""
    turn = handle(Scene.parked(store, gated(), ungated(1, "manual")))
    first, second = turn.pending_interactions().items

    allowed = turn.respond("a1", first.interaction_id, response=True, actor="eve")
    given = turn.respond("a2", second.interaction_id, {"n": 1})

    assert (allowed.outcome, given.outcome) == ("allow", "answered")
    assert turn.pending_interactions().items == ()
    assert [view.decision for view in turn.list_interactions().items] == ["allow", "answered"]


@covers("R017")
async def test_every_method_has_its_awaited_twin(store: Store) -> None:
    """The same, with the loop free meanwhile."""
    runtime = DurableRuntime()
    scene = await sync_to_async(Scene.parked)(store, gated(), waits_for(PAID, 1))
    turn = await runtime.afind_turn(scene.turn_id)
    (asked,) = (await turn.apending_interactions()).items

    await turn.aset_aside("later", asked.interaction_id, by="eve")
    apart = await runtime.ainbox("acme", set_aside=True)
    signalled = await turn.asignal("s1", PAID, 5)
    answered = await turn.arespond("a1", asked.interaction_id, response=False)

    assert [view.interaction_id for view in apart.items] == [asked.interaction_id]
    assert (signalled.outcome, answered.outcome) == ("matched", "deny")
    assert (await turn.alist_interactions()).items[0].decision == "deny"
    assert (await turn.astatus()).status == TurnStatus.WAITING


@covers("R147")
def test_bad_form_is_refused_before_anything_is_asked(store: Store) -> None:
    """Keys, request ids, content and names; an interaction of another Turn is not found."""
    turn, other = handle(Scene.parked(store, gated())), handle(Scene.parked(store, gated()))
    (asked,) = turn.pending_interactions().items

    for key in ("paid", "x.paid", ""):
        with pytest.raises(Invalid):
            turn.signal("s1", key)
    with pytest.raises(Invalid):
        turn.signal("s1", PAID, float("inf"))
    with pytest.raises(Invalid):
        turn.respond("two words", asked.interaction_id, response=True)
    with pytest.raises(Invalid):
        turn.set_aside("later", asked.interaction_id, by="")
    with pytest.raises(NotFound):
        other.respond("a1", asked.interaction_id, response=True)

    assert len(turn.pending_interactions().items) == 1


@covers("R144")
def test_a_forged_result_of_an_executor_is_refused(store: Store) -> None:
    """Only approvals and manual calls are answered; an execution's id is no interaction's."""
    scene = Scene.parked(store, ungated(route="hands"), gated(1, "hands"))
    turn = handle(scene)
    (asked,) = turn.pending_interactions().items
    forged: JsonValue = {"state": "COMPLETED", "content": "done"}

    for call in scene.calls():
        with pytest.raises(NotFound):
            turn.respond("f1", call.id, forged)
    with pytest.raises(Invalid):
        turn.respond("f1", asked.interaction_id, forged)

    assert [call.state for call in scene.calls()] == ["INTENDED", "INTENDED"]


def test_rules_are_kept_through_the_runtime(store: Store) -> None:
    """Made, listed, revoked; what one answered names it."""
    runtime = DurableRuntime()
    rule = runtime.create_rule("acme", "tool-0", allow=False, by="eve", arguments={"x": 0})
    scene = Scene.parked(store, gated())

    revoked = runtime.revoke_rule("acme", rule.rule_id, by="bob")

    (view,) = handle(scene).list_interactions().items
    assert (view.decision, view.rule_id) == ("deny", rule.rule_id)
    assert runtime.find_interaction(view.interaction_id) == view
    assert runtime.list_rules("acme").items == ()
    assert runtime.list_rules("acme", past=True).items == (revoked,)
