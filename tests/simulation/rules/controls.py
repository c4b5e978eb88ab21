"""What people ask of a Turn: steer, inject, withdraw, pause, resume, cancel, each once or twice."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sessions_app.contract.content import user_input
from sessions_app.models import JournalEntry
from sessions_app.store import controls as store
from tests.simulation.judge import same
from tests.simulation.predict import controls as predict
from tests.simulation.predict import people
from tests.simulation.predict.state import ended
from tests.simulation.world import World, any_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sessions_app.contract.views import Receipt
    from tests.simulation.predict.state import Facts

REFUSALS = frozenset({"CLOSED", "CONFLICT", "NOT_FOUND", "INVALID", "WRONG_ANSWER"})


def steer(world: World, rng: Random) -> str | None:
    """Add direction to a Turn."""
    return _give(world, rng, "steer")


def inject(world: World, rng: Random) -> str | None:
    """Add material to a Turn."""
    return _give(world, rng, "inject")


def _give(world: World, rng: Random, operation: str) -> str | None:
    turn = some_turn(world, rng)
    if turn is None:
        return None
    text = user_input(rng.choice("xyz"))
    work = getattr(store, operation)
    expected = predict.give(turn)
    receipt = control(world, turn, operation, text, partial(work, content=text), expected)
    if receipt is not None:
        world.expected.sessions[_session(world, turn)]["ordinals"] += 1
        assert receipt.subject is not None
        given = people.new_input(receipt.subject, turn["id"], operation.upper())
        world.expected.inputs[receipt.subject] = given
    return f"{turn['id']}: {expected}"


def withdraw(world: World, rng: Random) -> str | None:
    """Take an input back, applied or not."""
    inputs = world.expected.inputs.values()
    given = any_of(rng, (one for one in inputs if one["kind"] != "EXTERNAL"))
    if given is None:
        return None
    turn = world.expected.turns[given["turn"]]
    expected = predict.withdraw(turn, given)
    work = partial(store.withdraw, target=given["id"])
    control(world, turn, "withdraw", given["id"], work, expected)
    return f"{given['id']}: {expected}"


def pause(world: World, rng: Random) -> str | None:
    """Pause a Turn, wherever it stands."""
    turn = some_turn(world, rng)
    if turn is None:
        return None
    expected = predict.pause(turn, f"request-{world.requests + 1}")
    control(world, turn, "pause", None, store.pause, expected)
    return f"{turn['id']}: {expected}"


def resume(world: World, rng: Random) -> str | None:
    """Resume a Turn at the revision that it has, or at another one."""
    paused = [turn for turn in world.expected.turns.values() if turn["status"] == "PAUSED"]
    turn = any_of(rng, paused) if rng.random() < 0.8 else some_turn(world, rng)
    if turn is None:
        return None
    return resume_one(world, turn, turn["revision"] + (rng.random() < 0.3))


def resume_one(world: World, turn: Facts, revision: int) -> str:
    """Resume a Turn at this revision."""
    expected = predict.resume(world.expected, turn, revision)
    work = partial(store.resume, expected_revision=revision)
    control(world, turn, "resume", revision, work, expected)
    return f"{turn['id']} at {revision}: {expected}"


def cancel(world: World, rng: Random) -> str | None:
    """Cancel a Turn, wherever it stands."""
    turn = some_turn(world, rng)
    if turn is None:
        return None
    traces = JournalEntry.objects.filter(turn=turn["id"]).exists()
    request = f"request-{world.requests + 1}"
    expected = predict.cancel(world.expected, turn, request, traces=traces)
    control(world, turn, "cancel", None, store.cancel, expected)
    return f"{turn['id']}: {expected}"


def no_such_turn(world: World, rng: Random) -> str | None:
    """Ask something of a Turn under another Thread's name, or of none (R046)."""
    turn = some_turn(world, rng)
    if turn is None:
        return None
    thread = world.expected.threads[turn["thread"]]
    elsewhere = world.thread_key(thread).session.thread("nowhere")
    request = world.new_request()
    work = rng.choice((store.pause, store.cancel))
    world.ask("control", lambda: work(elsewhere, turn["id"], request), "NOT_FOUND")
    return str(turn["id"])


def control_again(world: World, rng: Random) -> str | None:
    """Repeat an admitted control: the same receipt; as another control, a conflict (R046)."""
    session = any_of(rng, world.expected.sessions.values())
    asked = [
        (request, known)
        for request, known in (session["requests"].items() if session else ())
        if "work" in known
    ]
    found = any_of(rng, asked)
    if found is None:
        return None
    request, known = found
    if rng.random() < 0.7:
        receipt = world.ask("repeat", known["work"], "done")
        same("receipt", receipt, known["receipt"])
        return f"{request}: same"
    key, turn_id = known["key"], known["receipt"].turn_id
    other = store.pause if known["receipt"].operation == "cancel" else store.cancel
    world.ask("repeat", lambda: other(key, turn_id, request), "CONFLICT")
    return f"{request}: CONFLICT"


def control(
    world: World,
    turn: Facts,
    operation: str,
    content: Any,
    work: Callable[..., Receipt],
    expected: str,
) -> Receipt | None:
    """Ask it under a new request id; compare refusal or receipt, and remember what was admitted."""
    request, thread = world.new_request(), world.expected.threads[turn["thread"]]
    key = world.thread_key(thread)
    asked = partial(work, key, turn["id"], request)
    answer = expected if expected in REFUSALS else "done"
    receipt = world.ask(operation, asked, answer)
    if receipt is None:
        return None
    same("outcome", (receipt.outcome, receipt.turn_id), (expected, turn["id"]))
    session = world.expected.sessions[thread["session"]]
    people.take(session, (operation, thread["name"], content), receipt)
    session["requests"][request] |= {"work": asked, "key": key}
    return receipt


def some_turn(world: World, rng: Random) -> Facts | None:
    """Any Turn, mostly one that has not ended."""
    turns = world.expected.turns.values()
    unfinished = [turn for turn in turns if not ended(turn)]
    return any_of(rng, unfinished if unfinished and rng.random() < 0.9 else turns)


def _session(world: World, turn: Facts) -> str:
    return str(world.expected.threads[turn["thread"]]["session"])
