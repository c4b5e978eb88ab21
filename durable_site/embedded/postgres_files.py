"""Where a private PostgreSQL keeps its files.

Root's PostgreSQL runs under another account, which cannot enter root's private folders.
"""

import contextlib
import hashlib
import secrets
import shutil
import tempfile
from pathlib import Path

from durable_site.embedded.binaries import Account

_SHARED_STATE = Path("/var/lib/durable_site")


def temporary_folder(account: Account | None) -> Path:
    """Return a folder for temporary files that the account can enter."""
    usual = Path(tempfile.gettempdir())
    if account is None or account.can_enter(usual):
        return usual
    return Path("/tmp")  # noqa: S108 - the folder made in it has a random name


def data_folder(folder: Path, account: Account | None) -> Path:
    """Return the folder for the data, owned by the account that will use it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = folder / "data"
    if account is not None and not account.can_enter(folder):
        digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
        shared = _SHARED_STATE / digest
        shared.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not data.is_symlink():  # a new folder: what its namesake left there has no password
            shutil.rmtree(shared, ignore_errors=True)
            data.symlink_to(shared)
        data = shared
    data.mkdir(mode=0o700, exist_ok=True)
    if account is not None:
        shutil.chown(data, account.uid, account.gid)
    return data


def data_password(folder: Path) -> str:
    """Return the password that belongs to the data of this folder."""
    kept = folder / "password"
    if not kept.exists():
        kept.touch(mode=0o600)
        kept.write_text(secrets.token_urlsafe(24))
    return kept.read_text()


def remove_data(folder: Path) -> None:
    """Remove what `start_postgres(folder)` keeps, wherever it stands; no server may be using it."""
    data = folder / "data"
    if data.is_symlink():
        shutil.rmtree(data.resolve(), ignore_errors=True)
        with contextlib.suppress(OSError):  # other folders have data there
            _SHARED_STATE.rmdir()
    shutil.rmtree(folder, ignore_errors=True)
