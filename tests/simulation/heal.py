"""Healing: no more faults, and everything is driven until it rests; then all has ended or waits."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tests.simulation import agents, looks
from tests.simulation.predict.state import GAP, Disagreement, ended
from tests.simulation.rules import asking, controls, hands, processes

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

    from tests.simulation.predict.state import Facts
    from tests.simulation.world import World

ROUNDS: Final = 300
SCAN: Final = timedelta(seconds=1)


def heal(world: World, rng: Random) -> None:
    """Drive everything to its end; raises Disagreement for a Turn that neither ends nor waits."""
    world.faults.armed.clear()
    for brain in world.brains:
        brain.stalled = False
    world.brains.append(world.new_brain("build-healed"))
    with agents.calm():
        for _ in range(ROUNDS):
            _drive(world, rng)
            _help(world)
            wait = _until_next(world)
            if wait is None:
                break
            world.pass_time(wait)
            _look_round(world, rng)
        else:
            msg = f"the world did not come to rest: {_restless(world)}"
            raise Disagreement(msg)
    looks.everything(world)
    for thread in world.expected.threads.values():
        _judge(world, thread)
    _effects_once(world)


def _restless(world: World) -> list[Facts]:
    known = world.expected
    heads = [known.head(thread) for thread in known.threads.values() if known.wake(thread)]
    calls = [call for call in known.calls.values() if _will_answer(world, call)]
    return [*(head for head in heads if head is not None), *calls]


def _drive(world: World, rng: Random) -> None:
    """Do whatever can be done now."""
    while True:
        for brain in world.brains:
            while waiting := brain.ready():
                world.pass_time(processes.MOMENT)
                brain.take(waiting[0], rng)
        world.pass_time(processes.MOMENT)
        if world.pool.letters:
            world.pool.obey(world.pool.letters.pop(0))
        elif world.pool.updates:
            hands.bring(world, world.pool.updates.pop(0))
        elif world.pool.work(rng) is None:
            return


def _help(world: World) -> None:
    """Lift every pause, answer every question, and send what is waited for."""
    known = world.expected
    for turn in known.turns.values():
        if turn["status"] == "PAUSED":
            controls.resume_one(world, turn, turn["revision"])
    for question in list(known.asked.values()):
        if question["status"] == "OPEN":
            asking.respond_to(world, question, asking.welcome(question))
    for wait in list(known.waits.values()):
        if wait["status"] == "OPEN":
            asking.send(world, known.turns[wait["turn"]], wait["key"])


def _until_next(world: World) -> timedelta | None:
    """How long until somebody has to look again; None when nothing will ever happen."""
    known = world.expected
    moments = [wake for wake in map(known.wake, known.threads.values()) if wake is not None]
    moments += [call["deliver_at"] for call in known.calls.values() if _will_answer(world, call)]
    if not moments:
        return None
    return max(min(moments) - known.now, timedelta()) + processes.MOMENT


def _will_answer(world: World, call: Facts) -> datetime | None:
    """When a call is sent or asked about again, if its pool has anything to say."""
    at: datetime | None = call["deliver_at"]
    if call["state"] in {"INTENDED", "STARTED"}:
        return at
    return at if world.pool.has_news(call["id"], call["position"]) else None


def _look_round(world: World, rng: Random) -> None:
    """What threads of living processes do by themselves: renew, scan, sweep, send and look."""
    for brain in world.brains:
        if brain.leases.live():
            processes.renew_one(world, brain)
    known, healed = world.expected, world.brains[-1]
    processes.scan_by(world, healed)
    while known.in_grace():
        world.pass_time(GAP - SCAN)
        processes.scan_by(world, healed)
    for gone in world.dead:
        if not known.hosts[gone.name]["lost"]:
            processes.sweep_by(world, healed, gone)
    hands.dispatch(world, rng)
    healed.hint()


def _judge(world: World, thread: Facts) -> None:
    """Every Turn has ended, or the first waits for what only a person can bring (I41, I42)."""
    head = world.expected.head(thread)
    if head is None or head["suspect"]:
        return
    calls = world.expected.open_calls(head)
    in_doubt = any(call["state"] == "UNKNOWN" for call in calls)
    if not in_doubt or ended(head):
        msg = f"{head['id']} is {head['status']} {head['reason']} and waits for nothing: {calls}"
        raise Disagreement(msg)


def _effects_once(world: World) -> None:
    """I27: no effect of a call happened twice that may happen once only."""
    acted = Counter(name for brain in [*world.brains, *world.dead] for name, _ in brain.effects)
    for name, times in acted.items():
        call = world.expected.calls[name]
        if times > 1 and call["effect"] == "once":
            msg = f"I27: {name} happened {times} times"
            raise Disagreement(msg)
    begun = Counter(world.pool.starts)
    twice = [name for name, times in begun.items() if times > 1]
    if twice and not world.forgotten:
        msg = f"I26: {twice} were started twice"
        raise Disagreement(msg)
