"""Objects go when nothing refers to them and their grace is over, and never before (I38, C73)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.apps import apps
from django.conf import settings

from hands_app.contract.ids import new_id
from hands_app.contract.references import digest_of
from hands_app.objects.files import FileStore
from sessions_app.contract.backend import EntryDraft, Finish
from sessions_app.contract.errors import Incompatible, Unavailable
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import EntryKind
from sessions_app.machine import settling
from sessions_app.models import JournalEntry, StoreState
from sessions_app.store import admission, bodies, purging, sweeping
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.objects import LARGE, Cellar, cellar
from tests.stores import FRAME, Gate, in_thread, tool_intent, wait_until_blocked

if TYPE_CHECKING:
    from pathlib import Path

    from sessions_app.contract.backend import Claim
    from tests.stores import Store

__all__ = ["cellar"]


def entry(text: str = LARGE) -> EntryDraft:
    """A journal entry with a large body."""
    return EntryDraft(kind=EntryKind.ITEMS, body={"text": text})


@pytest.fixture
def claim(store: Store, cellar: Cellar) -> Claim:
    """Give the owner of a Turn whose journal has a large body."""
    store.submit(store.session())
    made = store.claim()
    store.commit(made, entries=(entry(),))
    return made


def leave(cellar: Cellar, claim: Claim) -> str:
    """Put what no row will ever name, as a rolled-back commit does."""
    return cellar.store.put(claim.session_pk, b"left over").digest


@covers("R245")
@poses("C73")
def test_what_nothing_refers_to_goes_after_its_grace(
    store: Store, cellar: Cellar, claim: Claim
) -> None:
    """C73: not before, and what a row refers to stays however old it is."""
    (needed,) = cellar.digests(claim.session_pk)
    leave(cellar, claim)

    early = sweeping.every()
    cellar.age()
    foreseen = sweeping.every(deletes=False)
    late = sweeping.every()

    assert (early.objects, foreseen.objects, late.objects) == (0, 1, 1)
    assert cellar.digests(claim.session_pk) == [needed]
    assert store.backend.load(claim).entries[0].body == {"text": LARGE}


@poses("C73")
def test_looks_of_bounded_size_come_to_every_scope(store: Store, cellar: Cellar) -> None:
    """Each look goes on where the last one ended, and begins again behind the last scope."""
    for number in range(5):
        store.submit(store.session(f"chat-{number}"))
        made = store.claim()
        store.commit(made, entries=(entry(),))
        leave(cellar, made)
    cellar.age()

    gone = [sweeping.some(2).objects for _ in range(4)]

    assert sum(gone) == 5
    assert max(gone) == 2


@poses("C73", "S20")
def test_nothing_goes_while_a_call_of_the_session_is_at_hands(
    store: Store, cellar: Cellar, claim: Claim
) -> None:
    """C73: Hands may have put a result that no row of ours names yet, however long ago."""
    store.answered(claim, tool_intent(route="hands", start=False))
    result = leave(cellar, claim)
    cellar.age()

    swept = sweeping.every()

    assert swept.objects == 0
    assert result in cellar.digests(claim.session_pk)


@covers("R245")
@poses("C73", "T49")
def test_a_purge_takes_the_objects_of_its_session_alone(
    store: Store, cellar: Cellar, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C73, T49: the same body in another Session is another object."""
    monkeypatch.setitem(settings.DURABLE, "OUTSIDE", ("durable_site.outside.Objects",))
    store.finish(claim)
    store.submit(store.session("other"))
    other = store.claim()
    store.commit(other, entries=(entry(),))
    key = SessionKey("acme", "chat")
    admission.close_session(key)

    planned = purging.plan(key)
    purging.purge(key, actor="ann", reason="asked for")

    assert planned.outside == {"objects": 1}
    assert cellar.digests(claim.session_pk) == []
    assert store.backend.load(other).entries[0].body == {"text": LARGE}
    assert not any(claim.session_pk in str(path) for path in cellar.folder.rglob("*"))


@poses("C73", "T49")
def test_what_came_after_the_purge_goes_too(
    store: Store, cellar: Cellar, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T49: a late result of a Session that is gone lies in a scope that nobody owns."""
    monkeypatch.setitem(settings.DURABLE, "OUTSIDE", ("durable_site.outside.Objects",))
    store.finish(claim)
    admission.close_session(SessionKey("acme", "chat"))
    purging.purge(SessionKey("acme", "chat"), actor="ann", reason="asked for")
    leave(cellar, claim)

    cellar.age()

    assert sweeping.every().objects == 1


@poses("C73")
def test_a_sweep_between_put_and_commit_takes_nothing_that_is_named(
    store: Store, cellar: Cellar, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C73: an old leftover is put again; the sweep that had listed it looks again."""
    left = cellar.store.put(claim.session_pk, b'{"text":"' + b"again " * 60_000 + b'"}').digest
    cellar.age()
    remove, listed = FileStore.remove, []

    def commit_first(self: FileStore, scope: str, digests: set[str], **asked: object) -> int:
        listed.append(set(digests))
        self.put(scope, b'{"text":"' + b"again " * 60_000 + b'"}')
        return remove(self, scope, digests, **asked)  # type: ignore[arg-type] # as it came

    with monkeypatch.context() as patched:
        patched.setattr(FileStore, "remove", commit_first)
        swept = sweeping.every()
    store.commit(claim, entries=(entry("again " * 60_000),))

    assert listed == [{left}]
    assert swept.objects == 0
    assert store.backend.load(claim).entries[1].body == {"text": "again " * 60_000}


@poses("C73", "S13")
def test_a_sweep_waits_for_a_commit_under_way(
    store: Store, cellar: Cellar, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C73: it looks at references under the Session's lock, so it sees what the commit names.

    The commit put its object, was let through, and stands still with the lock in its hand while the
    object grows old.
    """
    gate = Gate()
    take = settling.commit

    def stand_still(*given: Any) -> None:
        take(*given)
        gate("commit")

    monkeypatch.setattr(settling, "commit", stand_still)
    committing = in_thread(lambda: store.commit(claim, entries=(entry("new " * 90_000),)))
    assert gate.reached.wait(20)
    cellar.age()

    sweep = in_thread(sweeping.every)
    wait_until_blocked(sweep)
    gate.open()
    committing.result(30)

    assert sweep.result(30).objects == 0
    assert len(cellar.digests(claim.session_pk)) == 2
    assert JournalEntry.objects.count() == 2


@poses("C73")
def test_a_store_that_is_not_ours_is_not_swept(
    store: Store, cellar: Cellar, claim: Claim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C73: what another database refers to is not seen from here, so it is nobody's."""
    theirs = FileStore(tmp_path / "theirs" / settings.DURABLE["NAMESPACE"])
    theirs.put(new_id("ses_"), b"of another deployment")
    cellar.age()
    monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", tmp_path / "theirs")

    with pytest.raises(Incompatible):
        sweeping.every()
    StoreState.objects.update(object_store="")

    assert sweeping.every().objects == 0
    monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", None)
    assert sweeping.every().objects == 0


def test_a_sweep_of_a_store_that_is_away_says_so(
    store: Store, cellar: Cellar, claim: Claim
) -> None:
    """An outage is told, and beat tries again."""
    cellar.folder.rename(cellar.folder.with_name("away"))
    cellar.folder.write_text("")

    with pytest.raises(Unavailable):
        sweeping.every()


@pytest.mark.tampers
@covers("R245")
@poses("C74")
def test_check_names_each_body_that_is_gone(store: Store, cellar: Cellar, claim: Claim) -> None:
    """I38: the row, the digest and what is wrong with it; the rest of the database is clean."""
    store.commit(claim, entries=(entry("two " * 90_000),), frame=FRAME)
    store.commit(claim, Finish(result={"parts": []}), frame=FRAME)
    assert check().is_clean
    first, second = JournalEntry.objects.order_by("position")
    cellar.file(digest_of(first.object_ref or "")).unlink()
    cellar.file(digest_of(second.object_ref or "")).write_bytes(b"{}")

    found = {breach.where: breach.text for breach in check().breaches}

    assert set(found) == {first.pk, second.pk}
    assert "not in the store" in found[first.pk]
    assert "does not have the bytes" in found[second.pk]
    assert 38 in check().checked


def test_every_reference_is_known_to_the_sweep() -> None:
    """A column that names objects and is not looked at would lose what it names."""
    named = {
        (model, field.name)
        for model in apps.get_app_config("sessions_app").get_models()
        for field in model._meta.get_fields()
        if field.name.endswith("_ref")
    }

    assert named == set(bodies.REFERRING.items())
