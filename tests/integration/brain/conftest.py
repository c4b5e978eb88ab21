"""A Brain in the test's own process, and Brains in real workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.brain.brains import Brains
from tests.integration.brain.farm import Farm
from tests.stores import Store


@pytest.fixture
def brains(store: Store, state_dir: Path) -> Iterator[Brains]:
    """Give the means to start Brains over the test's store."""
    made = Brains(store, state_dir)
    yield made
    made.close()


@pytest.fixture
def farm(store: Store, state_dir: Path) -> Iterator[Farm]:
    """Give the means to start real workers over the test's store."""
    made = Farm(store, state_dir)
    yield made
    made.let_go()
    made.let_go("slow")
    made.site.close()
