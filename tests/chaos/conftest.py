"""A field of workers with the broker that goes with the leg's database."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.chaos.brokers import Broker, of_leg
from tests.chaos.field import Field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores import Store

_SOURCE: Final = Path(__file__).with_name("skew.c")


@pytest.fixture
def broker(state_dir: Path) -> Iterator[Broker]:
    """Give a broker of the test's own: a folder with SQLite, Redis with PostgreSQL."""
    with of_leg(state_dir) as made:
        yield made


@pytest.fixture
def crowd(store: Store, state_dir: Path, broker: Broker) -> Iterator[Field]:
    """Give the means to start workers; all of them end with the test."""
    made = Field(store, state_dir, broker)
    yield made
    made.close()


@pytest.fixture(scope="session")
def skew(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the library that shifts a process's clock; its path must have no blank."""
    library = str(tmp_path_factory.mktemp("skew") / "skew.so")
    compiler = shutil.which("cc")
    assert compiler is not None, "the suite needs a C compiler"
    subprocess.run((compiler, "-shared", "-fPIC", "-o", library, str(_SOURCE), "-ldl"), check=True)
    return library
