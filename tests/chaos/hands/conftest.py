"""Both houses for each test: a Brain that the test drives, Hands in processes, a broker between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.worker.configuration import Configuration
from tests.chaos.hands.desk import Desk
from tests.chaos.hands.workers import Forge, Workers
from tests.rabbitmq import RabbitNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from tests.chaos.brokers import Broker
    from tests.stores import Store


@pytest.fixture(scope="session")
def forge() -> Iterator[Forge]:
    """Give the process that workers are forked from."""
    made = Forge()
    yield made
    made.close()


@pytest.fixture(scope="session")
def rabbit() -> Iterator[RabbitNode]:
    """Give a private RabbitMQ."""
    with RabbitNode() as node:
        yield node


@pytest.fixture
def oracle(state_dir: Path) -> Path:
    """Give the file that hears of every effect."""
    return state_dir / "oracle"


@pytest.fixture
def workers(
    forge: Forge, ledger: Database, state_dir: Path, broker: Broker, oracle: Path
) -> Iterator[Workers]:
    """Give the means to start Hands workers; all of them end with the test."""
    env = {
        "DURABLE_STATE_DIR": str(state_dir),
        "HANDS_DATABASE_URL": ledger.url.render_as_string(hide_password=False),
        "DURABLE_HANDS_TOOLS": "tests.chaos.hands.tools",
        "DURABLE_RENEW_SECONDS": "1",  # also the grace after a gap in which nobody scanned
        "DURABLE_DRAIN_SECONDS": "5",
        "DURABLE_FAULTS": "",
        "ORACLE": str(oracle),
        "GATE": str(state_dir / "gate"),
        "PYTHONUNBUFFERED": "1",
        **broker.environment,
    }
    made = Workers(forge, state_dir, env)
    yield made
    made.close()


@pytest.fixture
def desk(store: Store, ledger: Database, state_dir: Path, broker: Broker) -> Iterator[Desk]:
    """Give the Brain's side."""
    url = ledger.url.render_as_string(hide_password=False)
    found = broker.environment
    configuration = Configuration(
        state_dir, url, found["REDIS_URL"], rabbitmq_url=found.get("RABBITMQ_URL", "")
    )
    made = Desk(store, configuration)
    yield made
    made.close()
