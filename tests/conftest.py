"""What every test may ask for: a clean database, a whole site in processes of its own.

Run by hand, pytest uses SQLite in a temporary state folder. `tests/run.py` gives DATABASE_URL and
REDIS_URL for the other leg.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import pytest

if "DURABLE_STATE_DIR" not in os.environ:
    os.environ["DURABLE_STATE_DIR"] = tempfile.mkdtemp(prefix="durable-test-")
    atexit.register(shutil.rmtree, os.environ["DURABLE_STATE_DIR"], ignore_errors=True)
os.environ["DJANGO_SETTINGS_MODULE"] = "durable_site.settings"
django.setup()

# Each imports only those before it.
pytest_plugins = [
    "tests.legs",
    "tests.databases",
    "tests.sites",
    "tests.waking",
    "tests.stores",
    "tests.ledgers",
]


@pytest.fixture
def state_dir() -> Iterator[Path]:
    """Give a private state folder (mode 0700) with a short path and a space in it."""
    with tempfile.TemporaryDirectory(prefix="durable state-") as folder:
        yield Path(folder)
