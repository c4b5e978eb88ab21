"""The object store of a test: a folder of its own, and ways to look into it and to age it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from hands_app.objects.files import FileStore
from sessions_app.models import StoreState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGE = "large " * 60_000
"""More than goes into a row."""
LONG_AGO = timedelta(days=2)


@dataclass
class Cellar:
    """The folder, as the store sees it and as it lies there."""

    folder: Path
    store: FileStore

    def digests(self, scope: str) -> list[str]:
        """What a Session has there."""
        return self.store.digests(scope)

    def file(self, digest: str) -> Path:
        """The one file of an object."""
        (path,) = self.folder.rglob(digest.removeprefix("sha256:"))
        return path

    def age(self, by: timedelta = LONG_AGO) -> None:
        """Let everything that lies there have been put long ago."""
        then = time.time() - by.total_seconds()
        for path in self.folder.rglob("*"):
            if path.is_file():
                os.utime(path, (then, then))


@pytest.fixture
def cellar(database: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cellar]:
    """Give the deployment an object store of this test alone."""
    folder = tmp_path / "objects"
    monkeypatch.setitem(settings.DURABLE, "OBJECTS_DIR", folder)
    StoreState.objects.update(object_store="", swept_to="")
    yield Cellar(folder, FileStore(folder / settings.DURABLE["NAMESPACE"]))
    StoreState.objects.update(object_store="", swept_to="")
