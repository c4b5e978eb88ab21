"""Objects in a folder: `<shard>/<scope>/<hex digest>`, for every process that sees the folder.

A body is written aside and gets its name by a rename under the shard's lock, so a name always
stands for whole bytes. A put of what is there already makes it young again under the same lock
under which an old one is deleted: of a put and a sweep one is first, and the sweep looks again.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import (
    ObjectDamaged,
    ObjectForeign,
    ObjectMissing,
    TooLarge,
    Unavailable,
)
from hands_app.contract.faults import declare, faultpoint
from hands_app.contract.ids import new_id
from hands_app.contract.references import ObjectReference
from hands_app.contract.strict_json import OBJECT
from hands_app.objects import folders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import timedelta
    from pathlib import Path

declare("objects.put.before_rename", "objects.put.after_rename")

_ASIDE: Final = "aside"
_IDENTITY: Final = "store.id"
_SCOPE: Final = re.compile(r"[a-z]{2,8}_[0-9a-z]{26}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_SHARD: Final = re.compile(r"[0-9a-z]{2}")
_STORE: Final = re.compile(r"obs_[0-9a-z]{26}")


class FileStore:
    """Implements `port.ObjectStore` in one folder, which is made when it is first used."""

    def __init__(self, root: Path, *, makes: bool = True) -> None:
        """`root` belongs to one deployment; `makes`: the first use makes it, if it is missing."""
        self._root = root
        self._makes = makes

    @property
    def identity(self) -> str:
        """See the port; made once, so that of many processes starting at once all agree."""
        with _reaching():
            if self._makes and not (self._root / _IDENTITY).exists():
                folders.make_private(self._root)
                self._name_it(self._root / _IDENTITY)
        return self._seen()

    def put(self, scope: str, body: bytes) -> ObjectReference:
        """See the port."""
        self._folder(scope)
        if len(body) > OBJECT.bytes:
            message = f"a body of {len(body)} bytes; an object holds at most {OBJECT.bytes}"
            raise TooLarge(message)
        digest = f"sha256:{sha256(body).hexdigest()}"
        reference = ObjectReference(store=self.identity, scope=scope, digest=digest, size=len(body))
        with _reaching():
            self._keep(reference, body)
        return reference

    def get(self, reference: ObjectReference, *, scope: str) -> bytes:
        """See the port."""
        path = self._path_of(reference, scope)
        with _reaching(), self._there(reference):
            body = folders.read_whole(path, reference.size)
        if len(body) != reference.size or not _fits(body, reference.digest):
            message = f"object {reference.digest} does not have the bytes that it was stored with"
            raise ObjectDamaged(message)
        return body

    def stat(self, reference: ObjectReference, *, scope: str) -> int:
        """See the port."""
        path = self._path_of(reference, scope)
        with _reaching(), self._there(reference):
            return path.lstat().st_size

    def scopes(self, behind: str, limit: int) -> list[str]:
        """See the port; the order is that of the folders."""
        first, found = behind[-2:], list[str]()
        with _reaching():
            for shard in _names(self._root, _SHARD):
                if shard < first:
                    continue
                inside = _names(self._root / shard, _SCOPE)
                found += [name for name in inside if shard > first or name > behind]
                if len(found) >= limit:
                    break
        return found[:limit]

    def digests(self, scope: str, *, age: timedelta | None = None) -> list[str]:
        """See the port."""
        with _reaching():
            folder = self._folder(scope)
            names = [f"sha256:{name}" for name in _names(folder, re.compile(r"[0-9a-f]{64}"))]
            if age is None or not names:
                return names
            before = self._before(age)
            return [name for name in names if _put_at(self._path(scope, name)) <= before]

    def remove(self, scope: str, digests: Collection[str], *, age: timedelta | None = None) -> int:
        """See the port."""
        gone = 0
        folder = self._folder(scope)
        with _reaching():
            if not folder.is_dir():
                return 0
            before = float("inf") if age is None else self._before(age)
            with folders.alone(folder.parent):
                for digest in digests:
                    path = self._path(scope, digest)
                    if _put_at(path) <= before:
                        path.unlink()
                        gone += 1
                with suppress(OSError):  # it still holds something
                    folder.rmdir()
        return gone

    def tidy(self, age: timedelta) -> int:
        """See the port."""
        gone = 0
        aside = self._root / _ASIDE
        with _reaching():
            if not aside.is_dir():
                return 0
            before = self._before(age)
            for path in aside.iterdir():
                if _put_at(path) <= before:
                    path.unlink(missing_ok=True)
                    gone += 1
        return gone

    def _seen(self) -> str:
        """The identity as it stands; a folder without one is not there yet, or not mounted."""
        with _reaching():
            found = folders.read_whole(self._root / _IDENTITY, 64).decode(errors="replace")
        if not _STORE.fullmatch(found):
            message = "the object store's folder holds no identity that can be read"
            raise Unavailable(message)
        return found

    def _name_it(self, path: Path) -> None:
        made = folders.write_aside(self._aside(), new_id("obs_").encode())
        try:
            with suppress(FileExistsError):
                os.link(made, path)
            folders.sync_folder(self._root)
        finally:
            made.unlink()

    def _keep(self, reference: ObjectReference, body: bytes) -> None:
        made = folders.write_aside(self._aside(), body)
        try:
            shard = folders.make_private_in(self._root, reference.scope[-2:])
            with folders.alone(shard):
                folder = folders.make_private_in(shard, reference.scope)
                faultpoint("objects.put.before_rename")
                # A copy that is there may be damaged or old: this one is neither.
                os.utime(made)
                made.rename(self._path(reference.scope, reference.digest))
                faultpoint("objects.put.after_rename")
                folders.sync_folder(folder)
        finally:
            made.unlink(missing_ok=True)

    def _aside(self) -> Path:
        folder = self._root / _ASIDE
        if not folder.is_dir():
            folders.make_private(self._root)
            folders.make_private_in(self._root, _ASIDE)
        return folder

    def _path_of(self, reference: ObjectReference, scope: str) -> Path:
        if reference.scope != scope or reference.store != self._seen():
            message = f"object {reference.digest} is of another scope or store"
            raise ObjectForeign(message)
        return self._path(scope, reference.digest)

    def _path(self, scope: str, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            message = "no digest of an object"
            raise ObjectForeign(message)
        return self._folder(scope) / digest.removeprefix("sha256:")

    def _folder(self, scope: str) -> Path:
        if not _SCOPE.fullmatch(scope):
            message = "no scope of an object"
            raise ObjectForeign(message)
        return self._root / scope[-2:] / scope

    @contextmanager
    def _there(self, reference: ObjectReference) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            message = f"object {reference.digest} is not in the store"
            raise ObjectMissing(message) from None

    def _before(self, age: timedelta) -> float:
        return folders.now_of(self._aside()) - age.total_seconds()


def _fits(body: bytes, digest: str) -> bool:
    return digest == f"sha256:{sha256(body).hexdigest()}"


def _names(folder: Path, form: re.Pattern[str]) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if form.fullmatch(name))  # noqa: PTH208 - names alone are wanted
    except FileNotFoundError:
        return []


def _put_at(path: Path) -> float:
    """When it was put; what is gone compares with nothing."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return float("nan")


@contextmanager
def _reaching() -> Iterator[None]:
    """Say of any trouble with the folder that the store is away, and no path of it (law 10)."""
    try:
        yield
    except OSError as error:
        message = f"the object store cannot be reached: {error.strerror or type(error).__name__}"
        raise Unavailable(message) from error
