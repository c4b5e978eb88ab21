"""Answers to interactions: once, of the right type, for exactly what was shown (R144, I35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.errors import Closed, Conflict, Invalid, NotFound
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Command, Event, Interaction, Message, ToolCall
from sessions_app.store import controls, interactions
from tests.covers import covers, poses
from tests.integration.waits.scenes import ALLOW, DENY, Scene, gated, ungated

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from tests.stores import Store


@covers("R144")
@poses("S10")
def test_an_allowed_local_call_may_begin_and_has_not_begun(store: Store) -> None:
    """The answer wakes the Turn; the start record, and with it the approval's end, comes later."""
    scene = Scene.parked(store, gated())

    receipt = scene.respond(ALLOW, actor="eve")

    (asked,), (call,) = scene.asked(), scene.calls()
    assert (receipt.outcome, receipt.subject) == ("allow", asked.id)
    assert (asked.status, asked.answered_by) == ("ANSWERED", "eve")
    assert call.state == CallState.INTENDED
    assert call.allowed_at == asked.answered_at
    assert store.claim().turn_id == scene.turn_id


def test_the_start_record_uses_the_approval_up(store: Store) -> None:
    """Consumed in the very commit that begins the call (S10)."""
    scene = Scene.parked(store, gated())
    scene.respond(ALLOW)
    claim = store.claim()

    store.commit(claim, starts=(scene.calls()[0].id,))

    (asked,), (call,) = scene.asked(), scene.calls()
    assert (asked.status, asked.consumed_at) == ("CONSUMED", call.started_at)


def test_an_allowed_external_call_leaves_with_the_answer(store: Store) -> None:
    """It counts as possibly sent from this commit on, so the approval is used up by it (S9)."""
    scene = Scene.parked(store, gated(route="hands"))
    assert scene.calls()[0].deliver_at is None

    scene.respond({"decision": "allow"})

    (asked,), (call,) = scene.asked(), scene.calls()
    assert call.deliver_at == asked.consumed_at == asked.answered_at
    assert scene.turn.reason == WaitReason.TOOL


def test_a_denied_call_is_a_result_with_the_reason(store: Store) -> None:
    """The model reads why; nothing is sent and nothing began."""
    scene = Scene.parked(store, gated(route="hands"))

    receipt = scene.respond({"decision": "deny", "reason": "too dear"})

    (asked,), (call,) = scene.asked(), scene.calls()
    assert receipt.outcome == "deny"
    assert (call.state, call.deliver_at, call.started_at) == (CallState.DENIED, None, None)
    assert "too dear" in call.result["errorText"]
    assert asked.status == "CONSUMED"
    assert store.claim().turn_id == scene.turn_id


def test_a_manual_answer_is_the_calls_result(store: Store) -> None:
    """Any JSON, stored as it was given."""
    scene = Scene.parked(store, ungated(route="manual"))

    scene.respond({"invoice": [1, 2]})

    (call,) = scene.calls()
    assert (call.state, call.result["content"]) == (CallState.COMPLETED, {"invoice": [1, 2]})


def test_an_allowed_manual_call_asks_for_its_result_next(store: Store) -> None:
    """One interaction for each kind, the second opened by the answer to the first."""
    scene = Scene.parked(store, gated(route="manual"))

    scene.respond(ALLOW)
    scene.respond("done by hand", place=1)

    kinds = [(asked.kind, asked.status) for asked in scene.asked()]
    assert kinds == [("APPROVAL", "CONSUMED"), ("MANUAL", "CONSUMED")]
    assert scene.calls()[0].result["content"] == "done by hand"


@covers("R038")
def test_an_answer_is_a_public_message_that_names_its_interaction(store: Store) -> None:
    """With request id and input kind, in the history and in the timeline."""
    scene = Scene.parked(store, gated())

    scene.respond({"decision": "deny", "reason": "no"}, request="answer-1")

    message = Message.objects.get(turn=scene.turn_id, input_kind="respond")
    told = Event.objects.get(sequence=message.sequence, session=scene.turn.session)
    assert (message.request_id, message.interaction_id) == ("answer-1", scene.asked()[0].id)
    assert message.parts == [{"type": "text", "text": "deny: no"}]
    assert told.payload["interactionId"] == message.interaction_id


@pytest.mark.parametrize(
    "response", ["yes", 1, None, {"decision": "maybe"}, {"decision": "allow", "more": 1}, [True]]
)
@poses("C34")
def test_an_approval_takes_no_other_type(store: Store, response: object) -> None:
    """Invalid, and nothing is written: the request id stays free."""
    scene = Scene.parked(store, gated())

    with pytest.raises(Invalid, match="approval"):
        scene.respond(response, request="again")

    assert not Command.objects.filter(request_id="again").exists()
    assert scene.respond(ALLOW, request="again").outcome == "allow"


def test_a_manual_answer_has_to_be_strict_json(store: Store) -> None:
    """What has no digest is no answer."""
    scene = Scene.parked(store, ungated(route="manual"))

    with pytest.raises(Invalid, match="strict JSON"):
        scene.respond({"n": float("nan")})

    assert scene.asked()[0].status == "OPEN"


@poses("C34")
def test_another_turns_interaction_is_not_found(store: Store) -> None:
    """Foreign and unknown answer alike (C34)."""
    mine, other = Scene.parked(store, gated()), Scene.parked(store, gated())
    foreign = other.asked()[0].id

    for name in (foreign, "int_nothing", mine.calls()[0].id):
        with pytest.raises(NotFound, match=name):
            interactions.respond(mine.key, mine.turn_id, "r", name, ALLOW)

    assert other.asked()[0].status == "OPEN"


@poses("C34")
def test_a_second_answer_is_told_the_recorded_decision(store: Store) -> None:
    """The first valid answer wins; the content of a manual one is not repeated to others."""
    approval, manual = Scene.parked(store, gated()), Scene.parked(store, ungated(route="manual"))
    approval.respond(DENY)
    manual.respond("secret")

    with pytest.raises(Conflict, match="deny"):
        approval.respond(ALLOW)
    with pytest.raises(Conflict, match="answered") as refused:
        manual.respond("other")

    assert "secret" not in str(refused.value)


def test_the_same_request_is_the_same_receipt(store: Store) -> None:
    """A repeat decides nothing; another content under its id is a conflict."""
    scene = Scene.parked(store, gated())

    first = scene.respond(ALLOW, request="once")

    assert scene.respond(ALLOW, request="once") == first
    with pytest.raises(Conflict, match="other content"):
        scene.respond(DENY, request="once")
    assert Event.objects.filter(type="interaction.resolved").count() == 1


@poses("C34")
def test_an_ended_turn_takes_no_answer(store: Store) -> None:
    """CLOSED, a code of its own."""
    scene = Scene.parked(store, gated())
    controls.cancel(scene.key, scene.turn_id, "stop")
    claim = store.claim()
    store.fail(claim)
    assert scene.turn.status == TurnStatus.CANCELLED

    with pytest.raises(Closed, match="CANCELLED"):
        scene.respond(ALLOW)


def test_a_cancelled_turn_closes_its_questions(store: Store) -> None:
    """Nothing begins after the cancel, whoever answers (I13, C36)."""
    scene = Scene.parked(store, gated(), ungated(1, "hands"))

    controls.cancel(scene.key, scene.turn_id, "stop")

    assert scene.turn.status == TurnStatus.CANCELLING
    assert [asked.status for asked in scene.asked()] == ["CLOSED"]
    with pytest.raises(Conflict, match="begins nothing more"):
        scene.respond(ALLOW)


@pytest.mark.tampers
@pytest.mark.tampers
def test_arguments_that_changed_are_not_what_was_allowed(store: Store) -> None:
    """An approval is bound to the digest of the exact arguments (I34, I35)."""
    scene = Scene.parked(store, gated())
    ToolCall.objects.filter(turn=scene.turn_id).update(arguments={"x": 99})

    with pytest.raises(Conflict, match="other arguments"):
        scene.respond(ALLOW)

    assert Interaction.objects.get(turn=scene.turn_id).status == "OPEN"


def test_nobody_answers_for_a_call_that_has_ended(store: Store) -> None:
    """Its owner said meanwhile that it is not made: a late allow sends nothing."""
    scene = Scene.running(store, gated(route="hands"))
    (call,) = scene.calls()
    ended = ResultDraft(execution_id=call.id, state=CallState.NOT_EXECUTED)
    store.commit(scene.claim, results=(ended,))

    with pytest.raises(Conflict, match="has ended"):
        scene.respond(ALLOW)

    assert scene.calls()[0].deliver_at is None


def test_a_manual_answer_has_to_fit_its_schema(store: Store) -> None:
    """The frozen binding says what a person may give; the question stays open otherwise."""
    schema: JsonValue = {"type": "object", "required": ["total"]}
    scene = Scene.parked(store, ungated(route="manual", answerSchema=schema))

    with pytest.raises(Invalid, match=r"answer\.total is missing"):
        scene.respond({"sum": 5})

    assert scene.respond({"total": 5}).outcome == "answered"
