"""A Brain in the test's own process, over the test's store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.brain.brains import Brains
from tests.stores import Store


@pytest.fixture
def brains(store: Store, state_dir: Path) -> Iterator[Brains]:
    """Give the means to start Brains over the test's store."""
    made = Brains(store, state_dir)
    yield made
    made.close()
