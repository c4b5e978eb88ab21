"""`durable repair-transcript` over the real store: shown, mended once, and audited."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command

from hands_app.contract.ids import new_id
from hands_app.contract.strict_json import digest
from sessions_app.contract.errors import Conflict, NotFound
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import AuditEntry, Checkpoint, JournalEntry, Thread
from sessions_app.runtime import repair
from sessions_app.store import native
from sessions_app.store.invariants import check
from tests.contracts.harness.damage import DAMAGES, damaged
from tests.contracts.harness.house import House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from sessions_app.contract.identity import ThreadKey
    from tests.stores import Store

ROUND = Reply("", (Call("add", {"a": 1, "b": 2}), Call("note", {"text": "x"})))
REPLIES = [ROUND, Reply("done"), Reply("next"), Reply("last")]
KERNELS_HERE = [pytest.param(kernel, id=kernel.id) for kernel in KERNELS[:2]]


async def _house(store: Store, threads: Database, kernel: Kernel, damage: str) -> House:
    """A Thread with one finished Turn whose history was damaged since."""
    house = House(store, kernel, Mortal(), threads, REPLIES)
    await house.complete()
    await threads(_damage, house, damage)
    return house


def _damage(house: House, damage: str) -> None:
    """Put a broken entry with its checkpoint into the store, as a bad import would."""
    thread = Thread.objects.get()
    entry, frame = damaged(
        house.kernel.adapter, native.at_rest(thread, house.store.session().thread()), damage
    )
    old = Checkpoint.objects.order_by("-ordinal")[0]
    position = thread.journal_position + 1
    audit = AuditEntry.objects.create(
        id=new_id("aud_"), actor="test", action="import", target=thread.id, at=old.at
    )
    JournalEntry.objects.create(
        id=new_id("jrn_"),
        session_id=thread.session_id,
        thread=thread,
        turn_id=old.turn_id,
        position=position,
        kind=entry.kind,
        body=entry.body,
        token=audit.id,
        at=old.at,
    )
    old.id, old.ordinal, old.position, old.kind = (
        new_id("chk_"),
        old.ordinal + 1,
        position,
        "BASELINE",
    )
    old.body, old.digest, old.token = frame.body, digest(frame.body), audit.id
    old.save(force_insert=True)
    Thread.objects.update(journal_position=position, checkpoint_position=position)


def _command(*options: str) -> tuple[str, int]:
    """What the command printed, and its exit code."""
    out, code = io.StringIO(), 0
    try:
        call_command("durable", "repair-transcript", "acme/chat/main", *options, stdout=out)
    except SystemExit as left:
        code = int(str(left.code))
    return out.getvalue(), code


def _rows() -> list[Any]:
    return [kind.objects.count() for kind in (JournalEntry, Checkpoint, AuditEntry)]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("here", KERNELS_HERE)
async def test_a_damaged_thread_goes_on_after_its_repair(
    store: Store, threads: Database, here: Kernel, damage: str
) -> None:
    """I33: the Turn before it fails by name; the one behind it is taken by a strict model."""
    house = await _house(store, threads, here, damage)
    refused = await house.complete("r2", "too early", TurnStatus.FAILED)

    shown, code = await threads(_command, "--yes", "--reason", "bad import", "--by", "ann")
    await house.complete("r3", "next")

    assert refused.error_code == "BROKEN_TRANSCRIPT"
    assert code == 0
    assert "mended" in shown
    texts = [message.get("text") for message in house.provider.prompts[-1]]
    assert [text for text in texts if text] == ["go", "done", "next"]
    report = await threads(lambda: check(quiet=True))
    assert report.is_clean, "\n".join(map(str, report.breaches))


@pytest.mark.parametrize("here", KERNELS_HERE)
async def test_a_look_shows_the_diff_and_writes_nothing(
    store: Store, threads: Database, here: Kernel
) -> None:
    """Without --yes: calls and results by id, one fault, exit code 1, no row."""
    await _house(store, threads, here, "orphan call")
    before = await threads(_rows)

    shown, code = await threads(_command)

    assert code == 1
    assert "+ result call_2" in shown
    assert "message 1: call call_2 (note) has no result" in shown
    assert await threads(_rows) == before


async def test_a_repair_is_one_entry_one_baseline_and_one_audit(
    store: Store, threads: Database
) -> None:
    """Who, why, what was wrong; what was there before stays in the journal."""
    await _house(store, threads, KERNELS[0], "two results")
    before = await threads(_rows)

    await threads(_command, "--yes", "--reason", "bad import", "--by", "ann")

    audit = await threads(lambda: AuditEntry.objects.get(action="repair-transcript"))
    newest = await threads(lambda: Checkpoint.objects.order_by("-ordinal")[0])
    assert (audit.actor, audit.reason) == ("ann", "bad import")
    assert audit.before["faults"] == ["message 4: a second result, call_1"]
    assert (newest.kind, newest.token) == ("BASELINE", audit.id)
    assert await threads(_rows) == [count + 1 for count in before]


async def test_a_whole_history_is_left_alone(store: Store, threads: Database) -> None:
    """A second repair, and one of a healthy Thread, find nothing and write nothing."""
    await _house(store, threads, KERNELS[0], "wrong order")
    await threads(_command, "--yes")
    before = await threads(_rows)

    shown, code = await threads(_command, "--yes")

    assert code == 0
    assert "nothing is wrong" in shown
    assert await threads(_rows) == before


def _main(store: Store) -> ThreadKey:
    return store.session().thread()


def test_an_owned_thread_is_not_repaired(store: Store) -> None:
    """Somebody works on this very history: Conflict, and nothing is written."""
    store.submit(store.session())
    store.claim()

    with pytest.raises(Conflict, match="owned"):
        repair.repair(_main(store), "ann", "")

    assert _rows() == [0, 0, 0]


def test_a_thread_with_a_begun_turn_is_not_repaired(store: Store) -> None:
    """A Turn that waits will go on from this history: Conflict says which one, and what to do."""
    turn_id = store.submit(store.session())
    store.fail(store.claim())

    with pytest.raises(Conflict, match=f"{turn_id}.*cancel it"):
        repair.repair(_main(store), "ann", "")


def test_an_unknown_thread_is_not_found(store: Store) -> None:
    """A wrong name says so."""
    with pytest.raises(NotFound):
        repair.look(store.session().thread("nowhere"))


def test_a_thread_without_history_has_nothing_to_repair(store: Store) -> None:
    """Before its first checkpoint nothing can be wrong."""
    assert repair.repair(_main(store), "ann", "").faults == ()
