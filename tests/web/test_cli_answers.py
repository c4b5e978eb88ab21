"""Answers, signals and rules as verbs of `manage.py durable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.models import AuditEntry, Interaction, StandingRule
from tests.covers import covers
from tests.integration.waits.scenes import Scene, gated, ungated, waits_for
from tests.web.terminal import durable

if TYPE_CHECKING:
    from tests.stores import Store


@covers("R017", "R144")
def test_an_interaction_is_answered_by_its_id(store: Store) -> None:
    """As `explain` and the inbox name it; who answered is on record."""
    scene = Scene.parked(store, gated())
    (asked,) = scene.asked()

    listed = durable("interactions", "--namespace", "acme")
    answered = durable("respond", asked.id, "--deny", "--reason", "too dear", "--actor", "eve")

    assert f"{asked.id} APPROVAL OPEN tool-0" in listed.out
    assert '{"x":0}' in listed.out
    assert f"{asked.id}: deny" in answered.out
    assert Interaction.objects.get().answered_by == "eve"
    assert AuditEntry.objects.get(action="turn.respond").actor == "eve"


def test_a_manual_call_gets_its_result(store: Store) -> None:
    """Any JSON; what is none is refused with its code."""
    scene = Scene.parked(store, ungated(route="manual"))
    name = scene.asked()[0].id

    refused = durable("respond", name, "--result", "{")
    answered = durable("respond", name, "--result", '{"n": 1}', "--json")

    assert refused.err.startswith("INVALID")
    assert answered.data["outcome"] == "answered"
    assert scene.calls()[0].result["content"] == {"n": 1}


@pytest.mark.parametrize("word", ["--allow", "--deny"])
def test_a_manual_call_is_not_answered_by_a_decision(store: Store, word: str) -> None:
    """Its result would be the words of the decision; the refusal names what it takes."""
    scene = Scene.parked(store, ungated(route="manual"))

    answer = durable("respond", scene.asked()[0].id, word)

    assert answer.err.startswith("INVALID")
    assert "--result" in answer.err
    assert scene.asked()[0].status == "OPEN"


def test_an_unknown_interaction_is_not_found(store: Store) -> None:
    """With the exit code of what is missing."""
    answer = durable("respond", "int_nothing", "--allow")

    assert answer.err.startswith("NOT_FOUND")
    assert answer.code != 0


def test_a_question_is_set_aside(store: Store) -> None:
    """It leaves the inbox for the list of what was put off."""
    scene = Scene.parked(store, gated())
    name = scene.asked()[0].id

    durable("set-aside", name, "--reason", "ask bob", "--actor", "eve")

    assert "nobody is asked" in durable("interactions", "--namespace", "acme").out
    apart = durable("interactions", "--namespace", "acme", "--set-aside")
    assert "set aside by eve" in apart.out
    assert "set aside by eve" in durable("interactions", "--turn", scene.turn_id).out


@covers("R147")
def test_a_signal_is_sent(store: Store) -> None:
    """By the key that the Turn waits for, with content or without."""
    scene = Scene.parked(store, waits_for("x.shop.paid"))

    refused = durable("signal", scene.turn_id, "paid")
    sent = durable("signal", scene.turn_id, "x.shop.paid", '{"amount": 5}')

    assert refused.err.startswith("INVALID")
    assert "matched" in sent.out
    assert scene.calls()[0].result["content"] == {"amount": 5}


def test_rules_are_made_listed_and_revoked(store: Store) -> None:
    """One verb; a scope by its options."""
    made = durable(
        "rules", "acme", "--allow", "tool-0", "--arguments", '{"x": 0}', "--until", "2099-01-31"
    )
    rule = StandingRule.objects.get()
    scene = Scene.parked(store, gated())

    listed = durable("rules", "acme")
    durable("rules", "acme", "--revoke", rule.id)

    assert f"{rule.id} allow tool-0" in made.out
    assert "until 2099-01-31T00:00:00+00:00" in listed.out
    assert scene.asked()[0].rule_id == rule.id
    assert "no rule is in force in acme" in durable("rules", "acme").out
    assert "revoked by" in durable("rules", "acme", "--past").out


@pytest.mark.parametrize(
    "words", [("--until", "soon"), ("--until", "2020-01-01"), ("--session", "nowhere")]
)
def test_a_rule_that_cannot_be_is_refused(store: Store, words: tuple[str, str]) -> None:
    """Nothing is made."""
    answer = durable("rules", "acme", "--deny", "tool-0", *words)

    assert answer.code != 0
    assert not StandingRule.objects.exists()
