"""The object store: immutable, by digest, in one scope, durable, and never wrong (R245)."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.errors import (
    BadReference,
    ObjectDamaged,
    ObjectForeign,
    ObjectMissing,
    TooLarge,
    Unavailable,
)
from hands_app.contract.ids import new_id
from hands_app.contract.references import ObjectReference
from hands_app.contract.strict_json import OBJECT
from hands_app.objects.files import FileStore
from hands_app.objects.opening import open_store, place
from tests.covers import covers, poses

if TYPE_CHECKING:
    from pathlib import Path

BODY = b"a large body" * 1000
HOUR = timedelta(hours=1)

PUT = """
import sys
from pathlib import Path
from hands_app.objects.files import FileStore
FileStore(Path(sys.argv[1])).put(sys.argv[2], sys.stdin.buffer.read())
"""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """Give a store that nobody has used yet."""
    return FileStore(tmp_path / "objects" / "house")


@pytest.fixture
def scope() -> str:
    """Give the name of a Session."""
    return new_id("ses_")


def only_file(tmp_path: Path, reference: ObjectReference) -> Path:
    """The one file that holds an object."""
    (path,) = tmp_path.rglob(reference.digest.removeprefix("sha256:"))
    return path


def age(path: Path, by: timedelta) -> None:
    """Make a file look as if it had been put long ago."""
    then = time.time() - by.total_seconds()
    os.utime(path, (then, then))


@covers("R245")
def test_what_was_put_is_read_by_its_digest(store: FileStore, scope: str) -> None:
    """R245: the reference names digest and size, and gives the same bytes to every reader."""
    reference = store.put(scope, BODY)

    assert reference.digest == f"sha256:{sha256(BODY).hexdigest()}"
    assert (reference.size, reference.scope) == (len(BODY), scope)
    assert store.get(reference, scope=scope) == BODY
    assert store.stat(reference, scope=scope) == len(BODY)


@covers("R245")
def test_an_object_is_immutable(store: FileStore, scope: str) -> None:
    """R245: another body is another object; the same body is the same one."""
    first = store.put(scope, BODY)
    again = store.put(scope, BODY)
    other = store.put(scope, BODY + b"!")

    assert again == first
    assert store.get(first, scope=scope) == BODY
    assert sorted(store.digests(scope)) == sorted([first.digest, other.digest])


@covers("R192")
@poses("C74", "T36")
def test_a_reference_of_another_scope_is_refused(store: FileStore, scope: str) -> None:
    """T36: who knows the digest of another Session's object gets nothing by it."""
    theirs = store.put(scope, BODY)
    mine = new_id("ses_")
    swapped = theirs.model_copy(update={"scope": mine})

    with pytest.raises(ObjectForeign):
        store.get(theirs, scope=mine)
    with pytest.raises(ObjectMissing):
        store.get(swapped, scope=mine)
    with pytest.raises(ObjectForeign):
        store.stat(theirs, scope=mine)


@covers("R192")
def test_a_reference_of_another_store_is_refused(
    store: FileStore, scope: str, tmp_path: Path
) -> None:
    """R192: where two houses have no common store, that is seen and not mistaken for a loss."""
    theirs = FileStore(tmp_path / "elsewhere").put(scope, BODY)
    assert store.identity != theirs.store

    with pytest.raises(ObjectForeign):
        store.get(theirs, scope=scope)


@poses("C74", "T36")
@pytest.mark.parametrize("damage", ["flip", "cut", "grow", "page"])
def test_changed_bytes_are_never_delivered(
    store: FileStore, scope: str, tmp_path: Path, damage: str
) -> None:
    """C74: one bit, a missing end, a longer end, or something else altogether."""
    reference = store.put(scope, BODY)
    path = only_file(tmp_path, reference)
    body = bytearray(BODY)
    match damage:
        case "flip":
            body[7] ^= 1
        case "cut":
            del body[-1]
        case "grow":
            body += b"!"
        case _:
            body = bytearray(b"<html>moved</html>")
    path.write_bytes(bytes(body))

    with pytest.raises(ObjectDamaged) as refused:
        store.get(reference, scope=scope)

    assert str(tmp_path) not in str(refused.value)


@poses("C74")
def test_a_damaged_object_is_whole_again_once_its_body_is_put_again(
    store: FileStore, scope: str, tmp_path: Path
) -> None:
    """C74: a copy that lies there is not taken on trust."""
    reference = store.put(scope, BODY)
    only_file(tmp_path, reference).write_bytes(b"x" * len(BODY))

    store.put(scope, BODY)

    assert store.get(reference, scope=scope) == BODY


@poses("C74")
def test_a_missing_object_is_named(store: FileStore, scope: str, tmp_path: Path) -> None:
    """C74: the error says which object it is, and no path (law 10)."""
    reference = store.put(scope, BODY)
    only_file(tmp_path, reference).unlink()

    with pytest.raises(ObjectMissing, match=reference.digest) as refused:
        store.get(reference, scope=scope)

    assert str(tmp_path) not in str(refused.value)


@poses("C74")
def test_a_store_that_is_away_says_nothing_about_its_objects(
    store: FileStore, scope: str, tmp_path: Path
) -> None:
    """C74: a folder that is not mounted is an outage, not a loss."""
    reference = store.put(scope, BODY)
    folder = tmp_path / "objects"
    folder.rename(tmp_path / "unmounted")
    folder.mkdir()

    with pytest.raises(Unavailable) as away:
        store.get(reference, scope=scope)
    (tmp_path / "unmounted").rename(folder)

    assert str(tmp_path) not in str(away.value)
    assert store.get(reference, scope=scope) == BODY


@poses("T36", "C72")
@pytest.mark.parametrize(
    "scope",
    [
        "",
        "..",
        "../../etc",
        "/etc",
        "ses_",
        "ses_" + "0" * 25 + "/",
        "ses_" + "0" * 26 + "\n",
        "a\0",
    ],
)
def test_no_scope_leaves_the_folder(store: FileStore, tmp_path: Path, scope: str) -> None:
    """T36: nothing but an id of ours names a place."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ObjectForeign):
        store.put(scope, BODY)
    with pytest.raises(ObjectForeign):
        store.digests(scope)
    with pytest.raises(ObjectForeign):
        store.remove(scope, ["sha256:" + "0" * 64])

    assert sorted(tmp_path.rglob("*")) == before


@poses("T36", "C72")
def test_no_digest_leaves_the_folder(store: FileStore, scope: str, tmp_path: Path) -> None:
    """T36: a digest that is a path removes nothing."""
    store.put(scope, BODY)
    aim = tmp_path / "aim"
    aim.write_text("here")

    with pytest.raises(ObjectForeign):
        store.remove(scope, ["sha256:../../../../aim"])

    assert aim.read_text() == "here"


@poses("T36")
def test_a_link_in_the_place_of_an_object_is_not_followed(
    store: FileStore, scope: str, tmp_path: Path
) -> None:
    """T36: what stands elsewhere is never delivered as an object."""
    reference = store.put(scope, BODY)
    path = only_file(tmp_path, reference)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Unavailable):
        store.get(reference, scope=scope)


@covers("R245")
def test_nobody_else_can_read_the_folder(store: FileStore, scope: str, tmp_path: Path) -> None:
    """R245: private bodies lie in folders and files of ours alone."""
    store.put(scope, BODY)

    for path in (tmp_path / "objects").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name


@covers("R245")
def test_a_body_beyond_the_limit_is_refused(store: FileStore, scope: str) -> None:
    """R245: 64 MiB are the most that there is; nothing of more is kept."""
    with pytest.raises(TooLarge):
        store.put(scope, bytes(OBJECT.bytes + 1))

    assert store.digests(scope) == []


@poses("C74")
def test_a_put_that_was_killed_leaves_no_half_object(
    store: FileStore, scope: str, tmp_path: Path
) -> None:
    """C74: killed before the rename nothing has the name; killed after it, all is there."""
    root = tmp_path / "objects" / "house"
    reference = ObjectReference(
        store=store.identity,
        scope=scope,
        digest=f"sha256:{sha256(BODY).hexdigest()}",
        size=len(BODY),
    )
    there = []
    for point in ("before", "after"):
        environment = {**os.environ, "DURABLE_FAULTS": f"objects.put.{point}_rename=kill"}
        command = [sys.executable, "-c", PUT, str(root), scope]
        died = subprocess.run(command, input=BODY, env=environment, check=False, timeout=60)
        assert died.returncode == -signal.SIGKILL
        there.append(store.digests(scope))

    assert there == [[], [reference.digest]]
    assert store.get(reference, scope=scope) == BODY
    assert store.put(scope, BODY) == reference  # the lock of the dead is free
    (left,) = (root / "aside").iterdir()
    assert store.tidy(HOUR) == 0
    age(left, 2 * HOUR)
    assert store.tidy(HOUR) == 1


def test_many_put_the_same_body_at_once(store: FileStore, scope: str) -> None:
    """Each of several writers finds the whole object; one file holds it."""
    found: list[bytes] = []

    def put() -> None:
        found.append(store.get(store.put(scope, BODY), scope=scope))

    threads = [threading.Thread(target=put) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [BODY] * 8
    assert len(store.digests(scope)) == 1


def test_of_many_who_make_a_store_one_gives_it_its_name(tmp_path: Path) -> None:
    """Every process that sees the folder says the same identity."""
    seen: set[str] = set()
    threads = [
        threading.Thread(target=lambda: seen.add(FileStore(tmp_path / "new").identity))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 1


@poses("C73")
def test_only_what_is_old_goes(store: FileStore, scope: str, tmp_path: Path) -> None:
    """C73: a sweep with an age leaves what was put lately, whoever asks for it to go."""
    old, young = store.put(scope, b"old"), store.put(scope, b"young")
    age(only_file(tmp_path, old), 2 * HOUR)

    listed = store.digests(scope, age=HOUR)
    gone = store.remove(scope, [old.digest, young.digest], age=HOUR)

    assert listed == [old.digest]
    assert gone == 1
    assert store.digests(scope) == [young.digest]


@poses("C73")
def test_a_put_makes_an_old_object_young_again(
    store: FileStore, scope: str, tmp_path: Path
) -> None:
    """C73: a sweep that listed it before the put looks again and lets it be."""
    reference = store.put(scope, BODY)
    age(only_file(tmp_path, reference), 2 * HOUR)
    listed = store.digests(scope, age=HOUR)

    store.put(scope, BODY)

    assert listed == [reference.digest]
    assert store.remove(scope, listed, age=HOUR) == 0
    assert store.get(reference, scope=scope) == BODY


def test_scopes_are_listed_in_pages(store: FileStore) -> None:
    """Every scope comes once, whatever the size of a page; an empty one is gone."""
    made = [new_id("ses_") for _ in range(7)]
    for scope in made:
        store.put(scope, BODY)
    store.remove(made[0], store.digests(made[0]))

    seen: list[str] = []
    while page := store.scopes(seen[-1] if seen else "", 2):
        seen += page

    assert sorted(seen) == sorted(made[1:])


@covers("R245")
def test_a_row_says_of_an_object_what_the_row_does_not_know(store: FileStore, scope: str) -> None:
    """R245: digest and size; store and scope are the row's, so no row leads into another scope."""
    reference = store.put(scope, BODY)

    read = ObjectReference.of_row(reference.stored, store=store.identity, scope=scope)

    assert read == reference
    for odd in ("", "2:" + reference.stored[2:], reference.stored + "\n", f"{scope}:x"):
        with pytest.raises(BadReference):
            ObjectReference.of_row(odd, store=store.identity, scope=scope)


def test_a_process_may_have_no_store(tmp_path: Path) -> None:
    """`none` is none; else each deployment has a folder of its own below the state folder's."""
    assert place("none", tmp_path) is None
    assert open_store(None, "house") is None
    assert place("", tmp_path) == tmp_path / "objects"
    one, other = (open_store(place("", tmp_path), name) for name in ("one", "other"))
    assert one is not None
    assert other is not None
    assert one.identity != other.identity
