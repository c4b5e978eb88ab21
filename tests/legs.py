"""Legs of the suite: all of it on SQLite, then what touches a database again on PostgreSQL."""

import json
import os
import re
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import rabbitmq

TOUCHES_DATABASE = frozenset({"database", "fresh_site", "migrated_database", "django_db_setup"})
"""A test that uses one of these fixtures, however indirectly, runs on every leg."""

_STARTS_PROCESSES = re.compile(
    r"tests/(acceptance|chaos)/"
    r"|/test_(processes|pools|presence|private_servers|starting|database_trouble|cli)\.py"
)
"""Files whose tests start processes and measure time: one after the other, never two at once."""

RESULT_FILE = "DURABLE_TEST_RESULT"
REQUIRED_LEGS = "DURABLE_REQUIRE_LEGS"
"""Names, blank separated, of legs whose absence is a failure."""
ONLY_DATABASE = "DURABLE_TEST_ONLY_DATABASE"


def vendor() -> str:
    """Return `sqlite` or `postgresql`, whichever this run is on."""
    return "postgresql" if os.environ.get("DATABASE_URL", "").startswith("postgres") else "sqlite"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to another leg; these tests are not skipped, they run there."""
    kept = [item for item in items if _belongs_here(item)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not _belongs_here(item)])
        items[:] = kept


def _belongs_here(item: pytest.Item) -> bool:
    other = "sqlite" if vendor() == "postgresql" else "postgresql"
    if item.get_closest_marker(other) is not None:
        return False
    if item.get_closest_marker("rabbitmq") is not None:
        return vendor() == "postgresql" and rabbitmq.is_installed()
    if not os.environ.get(ONLY_DATABASE) or item.get_closest_marker(vendor()) is not None:
        return True
    return not TOUCHES_DATABASE.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Hand the counts to `tests/run.py`, which sums them over the legs."""
    path = os.environ.get(RESULT_FILE)
    if path:
        stats = terminalreporter.stats
        counts = {
            "passed": len(stats.get("passed", ())),
            "failed": len(stats.get("failed", ())) + len(stats.get("error", ())),
            "skipped": len(stats.get("skipped", ())),
        }
        Path(path).write_text(json.dumps(counts))


class OneProcessTestAtATime(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives each worker whole files, and all that start processes to the same worker."""

    def _split_scope(self, nodeid: str) -> str:
        return "processes" if _STARTS_PROCESSES.search(nodeid) else nodeid.split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Keep two process tests from disturbing each other's timing on a small machine."""
    return OneProcessTestAtATime(config, log)
