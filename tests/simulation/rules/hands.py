"""What happens between the houses: commands and updates, lost, doubled and in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import new_id
from hands_app.contract.reconciling import Reconciliation, verified
from sessions_app.models import ToolCall
from sessions_app.store import reconciling
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.outbox import StoreOutbox
from tests.simulation.judge import same
from tests.simulation.predict import outside
from tests.simulation.world import World, any_of

if TYPE_CHECKING:
    from random import Random

    from hands_app.contract.messages import Update

_NO_DIGEST: Final = "sha256:" + "0" * 64


def dispatch(world: World, rng: Random) -> str | None:
    """Take from the outbox what is due; it lies in the post from now on."""
    expected = outside.deliveries(world.expected)
    if not expected and rng.random() < 0.8:
        return None
    taken = world.ask("dispatch", lambda: StoreOutbox().take(100), "done")
    if taken is not None and (taken or not expected or not world.faults.troubled):
        same("sent", {letter.execution_id: letter.sent for letter in taken}, expected)
        world.pool.letters += taken
    return f"{len(expected)} letters"


def carry(world: World, rng: Random) -> str | None:
    """Bring one command to the pool, whichever is first."""
    return _carry(world, rng, keep=False)


def carry_twice(world: World, rng: Random) -> str | None:
    """Bring one command to the pool that will be brought again."""
    return _carry(world, rng, keep=True)


def lose_command(world: World, rng: Random) -> str | None:
    """Lose a command on its way."""
    letter = any_of(rng, world.pool.letters)
    if letter is None:
        return None
    world.pool.letters.remove(letter)
    return f"{letter.sent} {letter.execution_id}"


def _carry(world: World, rng: Random, *, keep: bool) -> str | None:
    letter = any_of(rng, world.pool.letters)
    if letter is None:
        return None
    if not keep:
        world.pool.letters.remove(letter)
    world.pool.obey(letter)
    return f"{letter.sent} {letter.execution_id}"


def work(world: World, rng: Random) -> str | None:
    """Let the pool's host go on with one execution."""
    return world.pool.work(rng)


def tell_on(world: World, rng: Random) -> str | None:
    """Have the pool tell of what has ended already."""
    return world.pool.tell_on(rng)


def deliver(world: World, rng: Random) -> str | None:
    """Bring one update to the Brain, in any order."""
    return _deliver(world, rng, keep=False)


def deliver_twice(world: World, rng: Random) -> str | None:
    """Bring one update to the Brain that will be brought again."""
    return _deliver(world, rng, keep=True)


def lose_update(world: World, rng: Random) -> str | None:
    """Lose an update on its way."""
    update = any_of(rng, world.pool.updates)
    if update is None:
        return None
    world.pool.updates.remove(update)
    return f"{update.kind} {update.sequence}"


def _deliver(world: World, rng: Random, *, keep: bool) -> str | None:
    update = any_of(rng, world.pool.updates)
    if update is None:
        return None
    if not keep:
        world.pool.updates.remove(update)
    return bring(world, update)


def bring(world: World, update: Update) -> str:
    """Take an update in, and compare what became of it."""
    digests = ToolCall.objects.filter(pk=update.execution_id).values_list("request_digest")
    digest = next((row[0] for row in digests), "")
    expected = outside.take(world.expected, update, digest=digest)
    receipt = world.ask("update", lambda: StoreInbox().take(update), "done")
    assert receipt is not None
    if not (world.faults.troubled and receipt.taken == "duplicate"):
        same(f"update {update.kind} {update.sequence}", receipt.taken, expected)
    world.answers[f"update {receipt.taken}"] += 1
    return f"{update.kind} {update.sequence} of {update.execution_id}: {receipt.taken}"


def forge(world: World, rng: Random) -> str | None:
    """Bring an update about another request, or of an execution that nobody knows (T23)."""
    update = any_of(rng, world.pool.updates)
    if update is None:
        return None
    other = {"execution_id": new_id("exe_")}, {"route": "elsewhere"}, {"request_digest": _NO_DIGEST}
    change = rng.choice(other)
    return bring(world, update.model_copy(update=change))


def forget(world: World, rng: Random) -> str | None:
    """Lose the pool's ledger, as a restore from an older copy would."""
    if not world.pool.forget():
        return None
    world.forgotten = True
    return "the ledger"


def reconcile(world: World, rng: Random) -> str | None:
    """Bring evidence about a call that nobody can vouch for, or about one that needs none."""
    calls = list(world.expected.calls.values())
    doubtful = [call for call in calls if call["state"] == "UNKNOWN"]
    call = any_of(rng, doubtful or calls)
    if call is None or (not doubtful and rng.random() < 0.8):
        return None
    state = rng.choice(("COMPLETED", "FAILED", "CANCELLED"))
    told = {"content": "verified"} if state == "COMPLETED" else {"message": "verified"}
    asked = Reconciliation(
        world.new_request(), call["id"], "UNKNOWN", verified(state, **told), "a log", "ada"
    )
    expected = outside.reconcile(world.expected, call, state)
    world.ask(
        "reconcile", lambda: reconciling.reconcile(reconciling.find(call["id"]), asked), expected
    )
    return f"{call['id']} {state}: {expected}"
