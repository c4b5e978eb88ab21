"""A fresh ledger in a file for each test: what is tested here is the way to it, not the ledger.

The suite of all executors runs the same way over every database.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hands_app.ledger import schema
from hands_app.ledger.engine import Database
from hands_app.worker.configuration import Configuration

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def configuration(state_dir: Path) -> Configuration:
    """Give the figures of a host that loses no time."""
    url = f"sqlite:///{state_dir}/hands.sqlite3"
    with closing(Database(url)) as opened:
        schema.migrate(opened)
    return Configuration(
        state_dir=state_dir,
        ledger_url=url,
        poll_seconds=0.05,
        sweep_seconds=0.1,
        renew_seconds=0.3,
        grace_seconds=10,
    )
