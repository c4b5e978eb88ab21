"""The suite runs once for each kernel; over the real store with one database thread."""

from collections.abc import Iterator

import pytest

from sessions_app.brain.database import Database
from tests.contracts.harness.kernels import KERNELS, Kernel


@pytest.fixture(params=KERNELS, ids=lambda kernel: kernel.id)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Give one kernel after the other."""
    chosen: Kernel = request.param
    return chosen


@pytest.fixture
def threads() -> Iterator[Database]:
    """Give the thread that does the database work, as a Brain process has it."""
    made = Database(1)
    yield made
    made.close()
