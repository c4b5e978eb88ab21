"""What people answer: approvals and manual results, standing rules, signals."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sessions_app.contract.decisions import RuleDraft
from sessions_app.models import Interaction, StandingRule
from sessions_app.store import interactions as store
from sessions_app.store import rules
from tests.simulation import agents
from tests.simulation.predict import asking as predict
from tests.simulation.rules.controls import control, some_turn
from tests.simulation.world import NAMESPACE, World, any_of

if TYPE_CHECKING:
    from random import Random

    from hands_app.contract.strict_json import JsonValue
    from tests.simulation.predict.state import Facts


def respond(world: World, rng: Random) -> str | None:
    """Answer a question, an open one mostly, perhaps with an answer of the wrong type."""
    questions = world.expected.asked.values()
    open_ = [one for one in questions if one["status"] == "OPEN"]
    asked = any_of(rng, open_ if open_ and rng.random() < 0.8 else questions)
    if asked is None:
        return None
    wrong = rng.random() < 0.1
    if asked["kind"] == "MANUAL":
        return respond_to(world, asked, 7 if wrong else "a result")
    return respond_to(world, asked, "yes" if wrong else rng.random() < 0.7)


def welcome(asked: Facts) -> JsonValue:
    """An answer that lets the call go on."""
    return "a result" if asked["kind"] == "MANUAL" else True


def respond_to(world: World, asked: Facts, answer: JsonValue) -> str:
    """Answer this question."""
    name = _name(asked)
    turn = world.expected.turns[asked["turn"]]
    expected = predict.respond(world.expected, asked, answer)
    work = partial(store.respond, interaction_id=name, response=answer)
    control(world, turn, "respond", (name, answer), work, expected)
    return f"{name} {asked['kind']} {answer}: {expected}"


def _name(asked: Facts) -> str:
    found = Interaction.objects.filter(call=asked["call"], kind=asked["kind"])
    return str(found.values_list("pk", flat=True).get())


def respond_elsewhere(world: World, rng: Random) -> str | None:
    """Answer a question under another Turn's name (R144)."""
    asked, turn = any_of(rng, world.expected.asked.values()), some_turn(world, rng)
    if asked is None or turn is None or turn["id"] == asked["turn"]:
        return None
    name = _name(asked)
    work = partial(store.respond, interaction_id=name, response=True)
    control(world, turn, "respond", name, work, "NOT_FOUND")
    return str(name)


def signal(world: World, rng: Random) -> str | None:
    """Send a signal that somebody waits for, will wait for, or never waits for."""
    turn = some_turn(world, rng)
    if turn is None:
        return None
    key = rng.choice((agents.KEY, agents.KEY, agents.OTHER_KEY))
    return send(world, turn, key)


def send(world: World, turn: Facts, key: str) -> str:
    """Send this signal."""
    expected = predict.signal(world.expected, turn, key)
    work = partial(store.signal, name=key)
    receipt = control(world, turn, "signal", key, work, expected)
    if receipt is not None and receipt.subject is not None:
        session = world.expected.threads[turn["thread"]]["session"]
        world.expected.sessions[session]["ordinals"] += 1
        predict.taken(world.expected, turn, key, receipt.subject)
    return f"{turn['id']} {key}: {expected}"


def create_rule(world: World, rng: Random) -> str | None:
    """Answer later approvals ahead."""
    session = any_of(rng, [None, *world.expected.sessions])
    chosen, allow = rng.choice(agents.GATED).name, rng.random() < 0.6
    until = world.clock.now + timedelta(seconds=30) if rng.random() < 0.4 else None
    draft = RuleDraft(NAMESPACE, chosen, allow, "operator", session_id=session, expires_at=until)
    view = world.ask("rule", lambda: rules.create(draft), "done")
    assert view is not None
    for name in StandingRule.objects.values_list("pk", flat=True):
        if name not in world.expected.rules:
            world.expected.rules[name] = {
                "tool": chosen,
                "allow": allow,
                "session": session,
                "expires": until,
                "revoked": False,
            }
    return f"{chosen} {allow} in {session or 'all'}"


def revoke_rule(world: World, rng: Random) -> str | None:
    """Let a rule answer nothing any more, or one that was never made."""
    name = any_of(rng, world.expected.rules)
    if name is None or rng.random() < 0.1:
        world.ask("revoke", lambda: rules.revoke(NAMESPACE, "rule_none", "operator"), "NOT_FOUND")
        return "none"
    world.ask("revoke", lambda: rules.revoke(NAMESPACE, name, "operator"), "done")
    world.expected.rules[name]["revoked"] = True
    return name
