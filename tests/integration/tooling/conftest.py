"""Both houses for each test, with clean databases of the leg's kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import House

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.ledger.engine import Database
    from tests.stores import Store


@pytest.fixture
def pool(ledger: Database) -> Iterator[pools.Pool]:
    """Give a pool over the empty ledger."""
    pools.effects.clear()
    made = pools.Pool(ledger)
    yield made
    made.close()


@pytest.fixture
def house(store: Store, pool: pools.Pool) -> House:
    """Give both houses and the post between them."""
    return House(store, pool)
