"""What happens to processes: steps, deaths, stalls, hints, scans, sweeps and time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Unavailable
from tests.simulation.judge import same
from tests.simulation.predict.state import GAP, RENEWAL
from tests.simulation.world import World, any_of

if TYPE_CHECKING:
    from random import Random

    from tests.simulation.brains import Brain

MOMENT: Final = timedelta(microseconds=1)
JUMPS: Final = (0.1, 1, 1, 2, 4, 6, 11, 31, 61, 400)


def step(world: World, rng: Random) -> str | None:
    """Let one process go one step on."""
    brain = any_of(rng, _awake(world))
    waiting = any_of(rng, brain.ready()) if brain else None
    if brain is None or waiting is None:
        return None
    brain.take(waiting, rng)
    return f"{brain.name} {waiting.kind}"


def run_on(world: World, rng: Random) -> str | None:
    """Let one process go several steps on."""
    brain = any_of(rng, _awake(world))
    steps = 0
    while brain is not None and steps < 6 and (waiting := any_of(rng, brain.ready())):
        world.pass_time(MOMENT)
        brain.take(waiting, rng)
        steps += 1
    return f"{brain.name} {steps} steps" if brain and steps else None


def look(world: World, rng: Random) -> str | None:
    """Have a process look at the whole ready index, as its own scan does."""
    brain = any_of(rng, _awake(world))
    if brain is None:
        return None
    brain.hint()
    return brain.name


def hint(world: World, rng: Random) -> str | None:
    """Deliver a hint, whichever is next."""
    return _hint(world, rng, keep=False)


def duplicate_hint(world: World, rng: Random) -> str | None:
    """Deliver a hint that will be delivered again."""
    return _hint(world, rng, keep=True)


def drop_hint(world: World, rng: Random) -> str | None:
    """Lose a hint."""
    waiting = world.hints.waiting
    return waiting.pop(rng.randrange(len(waiting))) if waiting else None


def _hint(world: World, rng: Random, *, keep: bool) -> str | None:
    brain, hinted = any_of(rng, _awake(world)), any_of(rng, world.hints.waiting)
    if brain is None or hinted is None:
        return None
    if not keep:
        world.hints.waiting.remove(hinted)
    brain.hint(hinted)
    return f"{brain.name} about {hinted}"


def renew(world: World, rng: Random) -> str | None:
    """Renew the leases of one process, and tell it what was superseded."""
    brain = any_of(rng, _awake(world))
    return renew_one(world, brain) if brain else None


def renew_one(world: World, brain: Brain) -> str:
    """Renew what lives in one process."""
    pairs, asked_at = [held.pair for held in brain.leases.live()], brain.loop.time()
    try:
        answers = world.store().renew(brain.name, pairs)
    except Unavailable:
        return f"{brain.name} unanswered"
    brain.leases.answered(answers, asked_at)
    brain.loop.pump()
    return f"{brain.name} {sorted(answers.values())}"


def scan(world: World, rng: Random) -> str | None:
    """Scan, as the beat does each second; after a gap nobody is taken over for a while (S4)."""
    brain = any_of(rng, _awake(world))
    return scan_by(world, brain) if brain else None


def scan_by(world: World, brain: Brain) -> str:
    """Have one process scan."""
    known = world.expected
    gap = known.scanned is not None and known.now - known.scanned > GAP
    report = world.ask("scan", lambda: world.store().scan(brain.host, own=False), "done")
    known.scanned = known.now
    if gap:
        known.grace = known.now + RENEWAL
    assert report is not None
    if not world.faults.troubled:
        same("gap seen", "gap" in report.repaired, gap)
    return f"{brain.name} found {report.found}"


def sweep(world: World, rng: Random) -> str | None:
    """Take the Threads of a dead process away from it (S4)."""
    brain, gone = any_of(rng, _awake(world)), any_of(rng, world.dead)
    if brain is None or gone is None:
        return None
    return sweep_by(world, brain, gone)


def sweep_by(world: World, brain: Brain, gone: Brain) -> str:
    """Have one process sweep what another one left."""
    known = world.expected
    leased = [thread for thread in known.threads.values() if thread["host"] == gone.name]
    freed = 0 if known.in_grace() or known.hosts[gone.name]["lost"] else len(leased)
    living = world.living(gone)
    found = world.ask("sweep", lambda: world.store().sweep(brain.host, [living]), "done")
    if not world.faults.troubled:
        same("freed", found, freed)
    if freed:
        for thread in leased:
            thread["expires"] = known.now
    if all(thread["expires"] <= known.now for thread in leased):
        known.hosts[gone.name]["lost"] = True
    return f"{gone.name} by {brain.name}: {freed}"


def sweep_living(world: World, rng: Random) -> str | None:
    """Look at a process that renews between two looks: it is not dead and nothing is taken."""
    brain = any_of(rng, _awake(world))
    if brain is None or world.expected.hosts[brain.name]["lost"]:
        return None
    seen_before = world.living(brain)
    renew_one(world, brain)
    other = any_of(rng, [one for one in world.brains if one is not brain])
    assert other is not None
    if world.expected.hosts[brain.name]["seen"] == seen_before.seen_at:
        return None
    same("freed", world.store().sweep(other.host, [seen_before]), 0)
    return f"{brain.name} by {other.name}"


def kill(world: World, rng: Random) -> str | None:
    """Kill a process; another one starts in its place."""
    brain = any_of(rng, world.brains)
    assert brain is not None
    brain.die()
    world.dead.append(brain)
    world.replace(brain)
    return brain.name


def stall(world: World, rng: Random) -> str | None:
    """Stop a process as a whole; its steps come back when it wakes."""
    brain = any_of(rng, _awake(world))
    if brain is None or len(list(_awake(world))) < 2:
        return None
    brain.stalled = True
    return brain.name


def wake(world: World, rng: Random) -> str | None:
    """Let a stalled process go on, whatever became of its leases."""
    brain = any_of(rng, [one for one in world.brains if one.stalled])
    if brain is None:
        return None
    brain.stalled = False
    return brain.name


def drain(world: World, rng: Random) -> str | None:
    """Tell a process to stop in order; it hands its Turns over, and another one starts (S24)."""
    brain = any_of(rng, _awake(world))
    if brain is None:
        return None
    brain.drain()
    return brain.name


def advance(world: World, rng: Random) -> str | None:
    """Let the database's time pass, a little or a lot."""
    by = timedelta(seconds=rng.choice(JUMPS))
    world.pass_time(by)
    return str(by)


def next_deadline(world: World, rng: Random) -> str | None:
    """Let time pass until just before, at, or just behind the next time of a Thread."""
    known = world.expected
    wakes = (known.wake(thread) for thread in known.threads.values())
    later = [wake for wake in wakes if wake is not None and wake > known.now]
    if not later:
        return None
    by = min(later) - known.now + timedelta(milliseconds=rng.choice((-100, 0, 100)))
    world.pass_time(max(by, timedelta()))
    return str(by)


def trouble(world: World, rng: Random) -> str | None:
    """Have the next commit fail, or its answer get lost, once or for good (S7)."""
    choices = (("lose",), ("lose",), ("fail",), ("fail", "fail"), ("lose", "fail"))
    world.faults.armed[:] = rng.choice(choices)
    return " then ".join(world.faults.armed)


def _awake(world: World) -> list[Brain]:
    return [brain for brain in world.brains if not brain.stalled]
