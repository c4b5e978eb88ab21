"""A fresh ledger for each test: SQLite, or PostgreSQL where the run has one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hands_app.ledger import schema
from hands_app.ledger.engine import Database
from hands_app.worker.configuration import Configuration
from tests.integration.hands.examples import Ledger
from tests.integration.hands.hosting import Mailbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def migrated_database(state_dir: Path) -> Iterator[str]:
    """Give the URL of a migrated ledger; the name makes the test run on every database leg."""
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres"):
        url = f"sqlite:///{state_dir}/hands.sqlite3"
        _migrate(url)
        yield url
        return
    # Hands are tested without the Brain too, on SQLite (tests/independent.py).
    from tests.databases import create_database, database_name, drop_database  # noqa: PLC0415 - see above

    url = create_database()
    try:
        _migrate(url)
        yield url
    finally:
        drop_database(database_name(url))


@pytest.fixture
def ledger_url(migrated_database: str) -> str:
    """Give the URL of a fresh, migrated ledger."""
    return migrated_database


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    """Open the fresh ledger."""
    opened = Database(ledger_url, pool=10)
    yield opened
    opened.close()


@pytest.fixture
def ledger(database: Database) -> Ledger:
    """Give all that can be done to the fresh ledger, with a host enrolled."""
    return Ledger(database)


def _migrate(url: str) -> None:
    opened = Database(url)
    schema.migrate(opened)
    opened.close()


@pytest.fixture
def mailbox() -> Mailbox:
    """Give an empty mailbox."""
    return Mailbox()


@pytest.fixture
def configuration(ledger_url: str, state_dir: Path) -> Configuration:
    """Give the figures of a process that loses no time."""
    return Configuration(
        state_dir=state_dir,
        ledger_url=ledger_url,
        poll_seconds=0.05,
        sweep_seconds=0.1,
        renew_seconds=0.3,
        grace_seconds=10,
    )
