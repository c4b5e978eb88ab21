"""The suite runs once for each wiring, over a ledger with nothing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.worker.configuration import Configuration
from tests.contracts.executor.lines import LINES, Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.ledger.engine import Database


@pytest.fixture
def configuration(ledger: Database, state_dir: Path) -> Configuration:
    """Give the figures of a host that loses no time, over the emptied ledger."""
    return Configuration(
        state_dir=state_dir,
        ledger_url=ledger.url.render_as_string(hide_password=False),
        poll_seconds=0.05,
        sweep_seconds=0.1,
        renew_seconds=0.3,
        grace_seconds=10,
    )


@pytest.fixture(params=LINES, ids=lambda line: line.__name__.lower())
def bench(request: pytest.FixtureRequest, configuration: Configuration) -> Iterator[Bench]:
    """Give a Brain's end of one wiring after the other, with a host at the other end."""
    made = Bench(request.param, configuration)
    made.open()
    yield made
    made.tools.go.set()
    made.close()
