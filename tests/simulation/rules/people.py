"""What people and programs ask for: Sessions, Threads, Turns, and their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.content import user_input
from sessions_app.contract.identity import MAIN_THREAD
from sessions_app.contract.policy import SubmitOutcome, SubmitPolicy
from sessions_app.machine.admission import Limits
from sessions_app.models import JournalEntry
from sessions_app.store import admission
from tests.simulation.agents import AGENT, OTHER, ROUNDS
from tests.simulation.judge import same
from tests.simulation.predict import people
from tests.simulation.predict.state import new_turn
from tests.simulation.world import World, any_of

if TYPE_CHECKING:
    from random import Random

    from sessions_app.contract.views import Receipt
    from tests.simulation.predict.state import Facts

SESSIONS: Final = ("chat", "desk")
THREADS: Final = (MAIN_THREAD, "side")
POLICIES: Final = (SubmitPolicy.QUEUE, SubmitPolicy.QUEUE, *SubmitPolicy)
PINS: Final = (AGENT, AGENT, AGENT, OTHER)
LIMITS: Final = {AGENT: Limits(ROUNDS), OTHER: Limits(ROUNDS)}


def create_session(world: World, rng: Random) -> str | None:
    """Create a Session with its main Thread, perhaps one that is there already (R026)."""
    name, pin = rng.choice(SESSIONS), rng.choice(PINS)
    known = world.expected.sessions.get(name)
    if known is None:
        session: Facts = {"name": name, "status": "OPEN", "requests": {}, "ordinals": 0}
        world.ask(
            "create session", lambda: admission.create_session(world.key(session), pin), "done"
        )
        world.expected.sessions[name] = session
        world.learn_thread(session, MAIN_THREAD, pin.name)
        return f"{name} with {pin}"
    outcome = people.create_thread(world.expected, known, MAIN_THREAD, pin.name)
    expected = "done" if outcome == "same" else outcome
    world.ask("create session", lambda: admission.create_session(world.key(known), pin), expected)
    return f"{name} with {pin}: {outcome}"


def opening(world: World, rng: Random) -> str | None:
    """Begin with one Session, two Threads and three Turns."""
    session: Facts = {"name": SESSIONS[0], "status": "OPEN", "requests": {}, "ordinals": 0}
    key = world.key(session)
    world.ask("create session", lambda: admission.create_session(key, AGENT), "done")
    world.expected.sessions[SESSIONS[0]] = session
    world.learn_thread(session, MAIN_THREAD, AGENT.name)
    world.ask("thread", lambda: admission.create_thread(key.thread(THREADS[1]), AGENT), "done")
    world.learn_thread(session, THREADS[1], AGENT.name)
    for name in (*THREADS, rng.choice(THREADS)):
        _submit(world, session, name, world.new_request(), ("go", SubmitPolicy.QUEUE))
    return str(key)


def create_thread(world: World, rng: Random) -> str | None:
    """Create another Thread, perhaps one that is there already, or in a closed Session."""
    session = any_of(rng, world.expected.sessions.values())
    if session is None:
        return None
    pin = rng.choice(PINS)
    name = rng.choice((*THREADS, *THREADS, "late"))
    outcome = people.create_thread(world.expected, session, name, pin.name)
    expected = "done" if outcome in {"same", "created"} else outcome
    key = world.key(session).thread(name)
    world.ask("create thread", lambda: admission.create_thread(key, pin), expected)
    if outcome == "created":
        world.learn_thread(session, name, pin.name)
    return f"{name} of {session['name']} with {pin}: {outcome}"


def submit(world: World, rng: Random) -> str | None:
    """Submit a Turn, also to a closed, or to no Thread."""
    session = any_of(rng, world.expected.sessions.values())
    if session is None:
        return None
    name = rng.choice((*THREADS, *THREADS, *THREADS, "nowhere"))
    policy = rng.choice(POLICIES)
    return _submit(world, session, name, world.new_request(), (rng.choice("abc"), policy))


def submit_again(world: World, rng: Random) -> str | None:
    """Repeat a request, with the same content or other, to the same Thread or another (R030)."""
    session = any_of(rng, world.expected.sessions.values())
    asked = session["requests"] if session else {}
    request = any_of(rng, (name for name, known in asked.items() if "work" not in known))
    if session is None or request is None:
        return None
    _, name, (text, policy) = asked[request]["content"]
    if rng.random() < 0.3:
        text += "!"
    elif rng.random() < 0.2:
        name = "nowhere"
    elif rng.random() < 0.1:
        policy = rng.choice(POLICIES)
    return _submit(world, session, str(name), request, (text, policy))


def _submit(
    world: World, session: Facts, name: str, request: str, said: tuple[str, SubmitPolicy]
) -> str:
    known, content = world.expected, ("submit", name, said)
    head = _head(world, session, name)
    traces = head is not None and JournalEntry.objects.filter(turn=head["id"]).exists()
    outcome = people.submit(known, session, name, request, content, traces=traces)
    expected = "done" if outcome in {"same", *SubmitOutcome} else outcome
    key, text = world.key(session).thread(name), user_input(said[0])
    receipt = world.ask(
        "submit", lambda: admission.submit(key, request, text, LIMITS, said[1]), expected
    )
    if receipt is not None and outcome == "same":
        same("receipt", receipt, session["requests"][request]["receipt"])
    elif receipt is not None:
        same("outcome", receipt.outcome, outcome)
        session["ordinals"] += 1
        people.take(session, content, receipt)
        _learn(world, session, name, receipt)
    return f"{request} to {name} of {session['name']}, {said[1]}: {outcome}"


def _learn(world: World, session: Facts, name: str, receipt: Receipt) -> None:
    """Take what was admitted into what is expected: a Turn, or an input to one."""
    known = world.expected
    if receipt.outcome == SubmitOutcome.STEERED:
        assert receipt.subject is not None
        known.inputs[receipt.subject] = people.new_input(receipt.subject, receipt.turn_id, "STEER")
        return
    thread = people.thread_of(known, session, name)
    assert thread is not None
    known.turns[receipt.turn_id] = new_turn(receipt.turn_id, thread, session["ordinals"])


def _head(world: World, session: Facts, name: str) -> Facts | None:
    thread = people.thread_of(world.expected, session, name)
    return world.expected.head(thread) if thread is not None else None


def close_thread(world: World, rng: Random) -> str | None:
    """Close a Thread, if all its Turns have ended."""
    thread = any_of(rng, world.expected.threads.values())
    if thread is None:
        return None
    outcome = people.close_thread(world.expected, thread)
    key = world.thread_key(thread)
    expected = "done" if outcome == "closed" else outcome
    world.ask("close thread", lambda: admission.close_thread(key), expected)
    return f"{key}: {outcome}"


def close_session(world: World, rng: Random) -> str | None:
    """Close a Session, if all its Turns have ended."""
    session = any_of(rng, world.expected.sessions.values())
    if session is None:
        return None
    outcome = people.close_session(world.expected, session)
    key = world.key(session)
    expected = "done" if outcome == "closed" else outcome
    world.ask("close session", lambda: admission.close_session(key), expected)
    return f"{key}: {outcome}"


def unknown_thread(world: World, rng: Random) -> str | None:
    """Ask for what is not there."""
    session = any_of(rng, world.expected.sessions.values())
    if session is None:
        return None
    key = world.key(session).thread("nowhere")
    world.ask("close thread", lambda: admission.close_thread(key), "NOT_FOUND")
    return str(key)
