"""Files that survive a crash: written aside, synchronised, then given their name."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS: Final = 0o077


def make_private(folder: Path) -> None:
    """Make a folder that nobody else may enter, its parents too; an own one is closed to others."""
    if not folder.is_dir():
        make_private_in(folder.parent, folder.name)
    found = folder.stat()
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & _OTHERS:
        folder.chmod(0o700)


def make_private_in(parent: Path, name: str) -> Path:
    """Make one folder durable in another, which is made as well."""
    if not parent.is_dir():
        make_private_in(parent.parent, parent.name)
    folder = parent / name
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(parent)
    return folder


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other threads and processes out of a folder's names; the kernel drops it with us."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_aside(folder: Path, body: bytes) -> Path:
    """Write a file under a name of its own, durable and only for us."""
    handle, name = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        Path(name).unlink()
        raise
    return Path(name)


def read_whole(path: Path, size: int) -> bytes:
    """Read a file and at most one byte more than `size`; follows no link."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read(size + 1)


def now_of(folder: Path) -> float:
    """The time by the clock that gives the folder's files their age."""
    handle, name = tempfile.mkstemp(dir=folder)
    try:
        return os.fstat(handle).st_mtime
    finally:
        os.close(handle)
        Path(name).unlink()
