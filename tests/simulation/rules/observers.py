"""What watches: readers that start nothing, an observer that folds events; and pruning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.projection import EventProjection
from sessions_app.machine.retention import Keep
from sessions_app.store import explaining, reads, retention, snapshots, timeline
from tests.simulation.judge import same
from tests.simulation.world import World, any_of

if TYPE_CHECKING:
    from random import Random

    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.snapshot import Snapshot

PAGE: Final = 7


def read(world: World, rng: Random) -> str | None:
    """Read whatever can be read: it starts nothing, as the look after every rule shows (R010)."""
    session = any_of(rng, world.expected.sessions.values())
    turn = any_of(rng, world.expected.turns.values())
    if session is None or turn is None:
        return None
    view = reads.turn(turn["id"])
    same("read", (view.status, view.revision), (turn["status"], turn["revision"]))
    snapshots.snapshot(world.key(session))
    same("explained", explaining.why(turn["id"]).status, turn["status"])
    return str(turn["id"])


def observe(world: World, rng: Random) -> str | None:
    """Go on from where an observer stood: fold a page, or begin anew where it is too late."""
    session = any_of(rng, world.expected.sessions.values())
    if session is None:
        return None
    key = world.key(session)
    seen = world.observers.get(session["name"])
    if seen is None or rng.random() < 0.1:
        world.observers[session["name"]] = EventProjection.of(key)
        return f"{key} from the beginning"
    return _fold(world, key, seen)


def _fold(world: World, key: SessionKey, seen: EventProjection) -> str:
    stood = seen.snapshot()
    floor = reads.session_row(key).pruned_through
    behind = stood.last_sequence < floor
    try:
        page = timeline.events(key, stood.cursor, PAGE)
        seen.accept_page(page)
    except CursorExpired as error:
        world.answers[error.code] += 1
        same("too late", behind, expected=True)
        seen.reset(snapshots.snapshot(key))
        return f"{key} anew"
    same("too late", behind, expected=False)
    if len(page.items) < PAGE:
        same("folded", _shown(seen.snapshot()), _shown(snapshots.snapshot(key)))
    return f"{key} {len(page.items)} events"


def _shown(snapshot: Snapshot) -> Snapshot:
    """All but where its reader stands."""
    return replace(snapshot, cursor=None, pruned_through=0)


def prune(world: World, rng: Random) -> str | None:
    """Prune old events: what readers see stays as it is (I20)."""
    session = any_of(rng, world.expected.sessions.values())
    if session is None:
        return None
    key, keep = world.key(session), Keep(rng.choice((1, 10, 30)), None)
    before = snapshots.snapshot(key)
    world.ask("retain", lambda: retention.retain(key, keep), "done")
    done = world.ask("prune", lambda: retention.prune(key), "done")
    same("snapshot", _shown(snapshots.snapshot(key)), _shown(before))
    return f"{key} through {done.pruned_through if done else 0}"
