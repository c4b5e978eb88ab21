"""Opens the store that a process was told of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from hands_app.objects.files import FileStore

if TYPE_CHECKING:
    from hands_app.objects.port import ObjectStore

NONE: Final = "none"


def place(given: str, state_dir: Path) -> Path | None:
    """Where `DURABLE_OBJECTS_DIR` says that objects are: below the state folder, or nowhere."""
    if given.lower() == NONE:
        return None
    return Path(given).absolute() if given else state_dir / "objects"


def open_store(folder: Path | None, namespace: str, *, makes: bool = True) -> ObjectStore | None:
    """Return the store of one deployment; None where this process has none.

    One that is not there is made by its first use, unless `makes` is False: then it is away.
    """
    return None if folder is None else FileStore(folder / namespace, makes=makes)
