"""Standing rules: answers given ahead, in force at once, named wherever they answered."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.strict_json import digest
from sessions_app.contract.decisions import RuleDraft
from sessions_app.contract.errors import Conflict, Invalid, NotFound
from sessions_app.contract.status import CallState
from sessions_app.models import AuditEntry, Event
from sessions_app.store import clock, rules
from tests.covers import poses
from tests.integration.waits.scenes import ALLOW, Scene, gated
from tests.stores import Store, lost_answer

if TYPE_CHECKING:
    from sessions_app.contract.views import RuleView


def rule(*, allow: bool = True, **scope: Any) -> RuleView:
    """Make a rule for the first tool of a scene."""
    return rules.create(RuleDraft(scope.pop("namespace", "acme"), "tool-0", allow, "eve", **scope))


def test_a_rule_answers_in_the_commit_that_asks(store: Store) -> None:
    """No moment in which anybody could answer otherwise; the call leaves at once."""
    made = rule(reason="harmless")

    scene = Scene.parked(store, gated(route="hands"))

    (asked,), (call,) = scene.asked(), scene.calls()
    assert (asked.status, asked.rule_id, asked.opened_at) == (
        "CONSUMED",
        made.rule_id,
        asked.answered_at,
    )
    assert call.deliver_at == asked.opened_at


def test_what_a_rule_answered_names_it(store: Store) -> None:
    """In the event, in the view, in the audit, and to whoever answers too late."""
    made = rule()

    scene = Scene.parked(store, gated())

    (asked,) = scene.asked()
    assert Event.objects.get(type="interaction.resolved").payload["rule"] == made.rule_id
    assert AuditEntry.objects.get(target=asked.id).after["rule"] == made.rule_id
    with pytest.raises(Conflict, match=made.rule_id):
        scene.respond(ALLOW)


@poses("S2")
def test_what_a_rule_answered_leaves_no_deadline(store: Store) -> None:
    """Nobody is asked any more, so nothing is due when the question would have expired (S2)."""
    rule()

    scene = Scene.parked(store, gated(route="hands", answerWithin=40))

    assert scene.turn.wait_deadline is None
    assert store.thread(scene.claim).wake_at is None


@poses("S7")
def test_a_rule_is_made_once_though_the_answer_was_lost(store: Store) -> None:
    """A commit whose answer is lost is found again: no twin stays in force after a revoke (S7)."""
    with lost_answer():
        made = rule()

    rules.revoke("acme", made.rule_id, "eve")

    assert rules.listed("acme").items == ()


def test_an_allowed_local_call_is_due_at_once(store: Store) -> None:
    """The Turn parked with it, and is claimed to run it."""
    rule()

    scene = Scene.parked(store, gated())

    claim = store.claim()
    store.commit(claim, starts=(scene.calls()[0].id,))
    assert scene.asked()[0].status == "CONSUMED"


def test_a_rule_that_denies_gives_a_result(store: Store) -> None:
    """With its reason; and it goes before rules that allow."""
    rule()
    rule(allow=False, reason="not today")

    scene = Scene.parked(store, gated())

    (call,) = scene.calls()
    assert call.state == CallState.DENIED
    assert "standing rule: not today" in call.result["errorText"]


@pytest.mark.parametrize(
    "scope",
    [
        {"namespace": "other"},
        {"agent": "another"},
        {"arguments_digest": digest({"x": 1})},
    ],
    ids=["namespace", "agent", "arguments"],
)
def test_a_rule_of_another_scope_answers_nothing(store: Store, scope: dict[str, Any]) -> None:
    """The question stays open for a person."""
    rule(**scope)

    scene = Scene.parked(store, gated())

    assert scene.asked()[0].status == "OPEN"


@pytest.mark.parametrize(
    "scope",
    [{"agent": "agent"}, {"arguments_digest": digest({"x": 0})}],
    ids=["agent", "arguments"],
)
def test_a_rule_of_this_scope_answers(store: Store, scope: dict[str, Any]) -> None:
    """For this agent, for exactly these arguments."""
    rule(**scope)

    scene = Scene.parked(store, gated())

    assert scene.asked()[0].status == "ANSWERED"


def test_a_rule_of_one_session_answers_there_only(store: Store) -> None:
    """Another Session's question stays open."""
    key = store.session("mine")
    rule(session_id=key.session_id)

    mine, other = Scene.parked(store, gated(), session=key), Scene.parked(store, gated())

    assert (mine.asked()[0].status, other.asked()[0].status) == ("ANSWERED", "OPEN")


def test_an_expired_rule_answers_nothing(store: Store) -> None:
    """By the database's time."""
    rule(expires_at=clock.now() + timedelta(hours=1))

    with clock.offset(timedelta(hours=2)):
        scene = Scene.parked(store, gated())

    assert scene.asked()[0].status == "OPEN"


def test_a_revoked_rule_answers_nothing_more(store: Store) -> None:
    """What it answered stays; making and revoking are audited, revoking twice is once."""
    made = rule()
    before = Scene.parked(store, gated())

    revoked = rules.revoke("acme", made.rule_id, "bob", "too wide")
    assert rules.revoke("acme", made.rule_id, "bob", "again") == revoked

    assert Scene.parked(store, gated()).asked()[0].status == "OPEN"
    assert before.asked()[0].status == "ANSWERED"
    entries = AuditEntry.objects.filter(target=made.rule_id).order_by("id")
    assert [(e.actor, e.action, e.reason) for e in entries] == [
        ("eve", "rule.created", ""),
        ("bob", "rule.revoked", "too wide"),
    ]


def test_rules_are_listed_by_namespace(store: Store) -> None:
    """In force, or of the past."""
    kept, gone, _ = rule(), rule(), rule(namespace="other")
    rules.revoke("acme", gone.rule_id, "eve")

    assert [view.rule_id for view in rules.listed("acme").items] == [kept.rule_id]
    assert [view.rule_id for view in rules.listed("acme", past=True).items] == [gone.rule_id]


def test_bad_scopes_are_refused(store: Store) -> None:
    """Nothing is written; a rule of another namespace is not found."""
    made = rule(namespace="other")

    with pytest.raises(NotFound, match="acme/nowhere"):
        rule(session_id="nowhere")
    with pytest.raises(Invalid, match="tool"):
        RuleDraft("acme", "no tool", True, "eve")  # noqa: FBT003 - as the API passes it
    with pytest.raises(Invalid, match="no time zone"):
        rule(expires_at=clock.now().replace(tzinfo=None))
    with pytest.raises(NotFound, match=made.rule_id):
        rules.revoke("acme", made.rule_id, "eve")

    assert rules.listed("acme").items == ()
