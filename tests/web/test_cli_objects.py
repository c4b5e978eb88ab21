"""`manage.py durable` about large bodies: what doctor, check and prune say of the object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from hands_app.objects.files import FileStore
from sessions_app.contract.backend import EntryDraft
from sessions_app.contract.status import EntryKind
from sessions_app.management.diagnosis import Level, objects
from tests.covers import covers, poses
from tests.objects import LARGE, Cellar, cellar
from tests.web.terminal import durable

if TYPE_CHECKING:
    from pathlib import Path

    from sessions_app.contract.backend import Claim
    from tests.stores import Store

__all__ = ["cellar"]


@pytest.fixture
def claim(store: Store, cellar: Cellar) -> Claim:
    """Give the owner of a Turn whose journal has a large body."""
    store.submit(store.session())
    made = store.claim()
    store.commit(made, entries=(EntryDraft(kind=EntryKind.ITEMS, body=LARGE),))
    return made


@covers("R245")
def test_doctor_says_whose_store_it_is(
    claim: Claim, cellar: Cellar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R245: a host with another store, or none, could not read what this database refers to."""
    assert [each.level for each in objects.store()] == [Level.OK]
    FileStore(tmp_path / "other" / settings.DURABLE["NAMESPACE"]).put(claim.session_pk, b"x")

    for folder in (tmp_path / "other", tmp_path / "nowhere", None):
        monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", folder)
        (found,) = objects.store()
        assert found.level == Level.FAILURE
        assert str(tmp_path) not in found.text
    assert not (tmp_path / "nowhere").exists()


def test_a_doctor_of_a_new_house_complains_of_nothing(cellar: Cellar) -> None:
    """Nothing was put yet, so nothing is missed and nothing is made."""
    assert [each.level for each in objects.store()] == [Level.OK]
    assert not cellar.folder.exists()


@poses("C73", "C74")
def test_prune_and_check_count_objects(claim: Claim, cellar: Cellar) -> None:
    """The dry run says what the run does; what is needed stays, and what is gone is named."""
    cellar.store.put(claim.session_pk, b"left over")
    cellar.age()

    foreseen, done, again = (durable("prune", *more) for more in (["--dry-run"], [], []))

    assert "1 objects would go" in foreseen.out
    assert "1 objects deleted" in done.out
    assert "0 objects deleted" in again.out
    assert durable("check").code == 0
    (digest,) = cellar.digests(claim.session_pk)
    cellar.file(digest).unlink()
    broken = durable("check")
    assert broken.code == 1
    assert digest in broken.out
