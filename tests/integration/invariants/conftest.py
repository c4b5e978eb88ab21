"""The world that each test of the checker begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.store import bell
from tests.integration.invariants import world as worlds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings


@pytest.fixture
def world(database: None, settings: Settings) -> Iterator[worlds.World]:
    """Give a Session and a Brain in a clean database, without a broker."""
    settings.DURABLE = {**settings.DURABLE, "WAKEUPS": f"{worlds.__name__}.silence"}
    bell.wakeups.cache_clear()
    yield worlds.World()
    bell.wakeups.cache_clear()
