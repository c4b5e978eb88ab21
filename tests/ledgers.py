"""The ledger of Hands for tests of both houses: migrated once a process, emptied for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.ledger import schema, tables
from hands_app.ledger.engine import Database
from tests.databases import create_database, database_name, drop_database
from tests.legs import vendor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.databases import Template


@pytest.fixture(scope="session")
def migrated_ledger(
    migrated_database: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """Open one migrated ledger for all tests of this process."""
    file = tmp_path_factory.mktemp("ledger") / "hands.sqlite3"
    url = create_database() if vendor() == "postgresql" else f"sqlite:///{file}"
    opened = Database(url)
    schema.migrate(opened)
    yield opened
    opened.close()
    if vendor() == "postgresql":
        drop_database(database_name(url))


@pytest.fixture
def ledger(database: None, migrated_ledger: Database) -> Database:
    """Give the ledger with nothing in it."""
    with migrated_ledger.engine.begin() as connection:
        for table in reversed(tables.metadata.sorted_tables):
            connection.execute(table.delete())
    return migrated_ledger
