"""Large bodies of a Session are objects: put before their commit, whole when read (R245)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from hands_app.objects.files import FileStore
from sessions_app.contract.backend import EntryDraft, Fail, Go, Lost, ResultDraft
from sessions_app.contract.errors import Incompatible, Invalid, ObjectLost, Unavailable
from sessions_app.contract.status import CallState, EntryKind
from sessions_app.models import Checkpoint, Event, JournalEntry, StoreState, ToolCall
from sessions_app.store import clock, reads
from tests.covers import covers, poses
from tests.objects import LARGE, Cellar, cellar
from tests.stores import FRAME, tool_intent

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.contract.references import ObjectReference
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Claim
    from tests.stores import Store

__all__ = ["cellar"]

BODY: JsonValue = {"text": LARGE}


def entry(body: JsonValue = BODY) -> EntryDraft:
    """A journal entry with a body that does not belong into a row."""
    return EntryDraft(kind=EntryKind.ITEMS, body=body)


@pytest.fixture
def claim(store: Store, cellar: Cellar) -> Claim:
    """Give the owner of a Turn."""
    store.submit(store.session())
    return store.claim()


@covers("R245")
@poses("C40")
def test_large_entries_and_frames_lie_in_the_store(
    store: Store, cellar: Cellar, claim: Claim
) -> None:
    """R245: the rows hold references, and the owner of the next Run finds the bodies whole."""
    frame = FRAME.model_copy(update={"body": {"state": LARGE}})
    store.commit(claim, entries=(entry(), entry({"small": 1})), frame=frame)

    native = store.backend.load(claim)

    assert [each.body for each in native.entries] == [BODY, {"small": 1}]
    assert native.frame is not None
    assert native.frame.body == {"state": LARGE}
    large, small = JournalEntry.objects.order_by("position")
    assert (large.body, small.object_ref) == (None, None)
    assert Checkpoint.objects.get().body is None
    assert len(cellar.digests(claim.session_pk)) == 2


@covers("R245")
def test_a_settled_state_may_be_large_too(store: Store, cellar: Cellar, claim: Claim) -> None:
    """R245: the clean state that a failed Turn leaves goes the same way."""
    frame = FRAME.model_copy(update={"body": {"state": LARGE}})
    failure = Fail(
        error_class="E",
        code="E",
        text="E",
        retryable=False,
        settled=frame,
        settled_entries=(entry(),),
    )

    store.commit(claim, failure)

    assert Checkpoint.objects.get().body is None
    assert JournalEntry.objects.get().body is None
    assert len(cellar.digests(claim.session_pk)) == 2


@covers("R245", "R209")
def test_a_large_result_is_whole_for_the_agent_and_named_to_the_public(
    store: Store, cellar: Cellar, claim: Claim
) -> None:
    """Law 10: events and views say that there is a body, how large, and its digest."""
    store.answered(claim, tool_intent())
    call = ToolCall.objects.get()
    done = ResultDraft(execution_id=call.pk, state=CallState.COMPLETED, content=[LARGE])

    store.commit(claim, Go(), results=(done,))

    (facts,) = store.backend.load(claim).calls
    told = Event.objects.get(type="tool.result").payload["content"]
    (digest,) = cellar.digests(claim.session_pk)
    assert facts.result == {"content": [LARGE], "errorText": None}
    assert told == {"stored": True, "bytes": told["bytes"], "digest": digest}
    (view,) = reads.tools(claim.turn_id).items
    assert view.result == told
    for public in Event.objects.values_list("payload", flat=True):
        assert LARGE[:600] not in str(public)
        assert str(cellar.folder) not in str(public)


@covers("R245")
def test_what_is_small_stays_in_its_row(store: Store, cellar: Cellar, claim: Claim) -> None:
    """R245: the store is for what is better there; a small body costs no file."""
    store.commit(claim, entries=(entry({"text": "x" * 100_000}),), frame=FRAME)

    assert JournalEntry.objects.get().object_ref is None
    assert cellar.digests(claim.session_pk) == []


def test_a_process_without_a_store_keeps_bodies_in_rows(
    store: Store, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`none` is a choice: nothing is lost by it."""
    monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", None)

    store.commit(claim, entries=(entry(),))

    assert store.backend.load(claim).entries[0].body == BODY


@poses("C73")
def test_a_lost_owner_leaves_objects_and_no_reference(
    store: Store, cellar: Cellar, claim: Claim
) -> None:
    """A commit that is not done leaves only what a sweep takes away later."""
    late = replace(claim, token="another")

    answer = store.commit(late, entries=(entry(),))

    assert isinstance(answer, Lost)
    assert not JournalEntry.objects.exists()
    assert len(cellar.digests(claim.session_pk)) == 1


@poses("C73")
def test_a_commit_long_after_its_put_is_refused(
    store: Store, cellar: Cellar, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C73: stopped between put and commit for longer than a sweep leaves it alone: it puts again.

    The object is gone by then; nothing may name it.
    """
    put = FileStore.put

    with ExitStack() as later, monkeypatch.context() as patched:

        def stopped(self: FileStore, scope: str, body: bytes) -> ObjectReference:
            reference = put(self, scope, body)
            self.remove(scope, [reference.digest])
            later.enter_context(clock.offset(timedelta(hours=13)))
            return reference

        patched.setattr(FileStore, "put", stopped)
        with pytest.raises(Unavailable, match="put too long ago"):
            store.commit(claim, entries=(entry(),))
    assert not JournalEntry.objects.exists()

    store.commit(claim, entries=(entry(),))

    assert store.backend.load(claim).entries[0].body == BODY


@covers("R245")
@poses("C74")
@pytest.mark.parametrize("harm", ["gone", "flipped", "swapped"])
def test_a_body_that_is_not_what_was_stored_is_never_delivered(
    store: Store, cellar: Cellar, claim: Claim, harm: str
) -> None:
    """C74: the read fails, says which object, and changes nothing."""
    store.commit(claim, entries=(entry(),))
    (digest,) = cellar.digests(claim.session_pk)
    path = cellar.file(digest)
    if harm == "gone":
        path.unlink()
    elif harm == "flipped":
        path.write_bytes(path.read_bytes().replace(b"large", b"Large", 1))
    else:
        other = cellar.store.put(claim.session_pk, b"another")
        path.write_bytes(cellar.file(other.digest).read_bytes())

    with pytest.raises(ObjectLost, match=digest) as lost:
        store.backend.load(claim)

    assert not lost.value.retryable
    assert str(cellar.folder) not in str(lost.value)


@poses("C74", "T36")
def test_a_row_leads_into_no_other_session(store: Store, cellar: Cellar, claim: Claim) -> None:
    """T36: the digest of another Session's body in a row of this one finds nothing."""
    store.submit(store.session("other"))
    theirs = store.claim()
    store.commit(theirs, entries=(entry(),))
    mine = entry({"mine": LARGE})
    store.commit(claim, entries=(mine,))
    stolen = JournalEntry.objects.get(session=theirs.session_pk).object_ref
    JournalEntry.objects.filter(session=claim.session_pk).update(object_ref=stolen)

    with pytest.raises(ObjectLost):
        store.backend.load(claim)


@poses("T36")
def test_an_owner_cannot_name_an_object(store: Store, cellar: Cellar, claim: Claim) -> None:
    """T36: where a body is, only the store says; a change that says it is refused."""
    store.commit(claim, entries=(entry(),))
    known = JournalEntry.objects.get().object_ref
    forged = entry(None).model_copy(update={"object_ref": known})

    with pytest.raises(Invalid):
        store.commit(claim, entries=(forged,))

    assert JournalEntry.objects.count() == 1


@poses("C74")
def test_a_store_that_is_away_is_an_outage(store: Store, cellar: Cellar, claim: Claim) -> None:
    """C74: what cannot be reached is tried again, for a read as for a put."""
    store.commit(claim, entries=(entry(),))
    cellar.folder.rename(cellar.folder.with_name("unmounted"))
    cellar.folder.write_text("no folder")

    with pytest.raises(Unavailable):
        store.backend.load(claim)
    with pytest.raises(Unavailable):
        store.commit(claim, entries=(entry({"more": LARGE}),))


@covers("R245")
def test_a_host_with_another_store_writes_and_reads_nothing(
    store: Store, claim: Claim, cellar: Cellar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R245: a history is in one store; a host that sees another one hands the Thread over."""
    store.commit(claim, entries=(entry(),))
    assert StoreState.objects.get().object_store == cellar.store.identity
    monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", tmp_path / "elsewhere")

    with pytest.raises(Incompatible):
        store.backend.load(claim)
    with pytest.raises(Incompatible):
        store.commit(claim, entries=(entry({"more": LARGE}),))
    monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", None)
    with pytest.raises(Incompatible):
        store.backend.load(claim)
