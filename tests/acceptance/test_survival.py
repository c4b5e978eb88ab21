"""A pause, an approval and a signal outlive every process, the database's restart and a deploy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from durable_site.embedded.roles import CHECKOUT
from durable_site.embedded.servers import start_postgres
from tests.covers import covers
from tests.legs import vendor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.databases import Template

Facts = dict[str, Any]
_SET_UP = "import django; django.setup()"
_SITE = {"DJANGO_SETTINGS_MODULE": "durable_site.settings", "REDIS_URL": ""}


@pytest.fixture(scope="module")
def lives(
    migrated_database: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Facts, Facts]]:
    """Give what the killed life left and what the next one saw, with the database restarted."""
    folder = tmp_path_factory.mktemp("lives")
    if vendor() == "sqlite":
        # no server: each process opens the file anew
        yield _lives(folder, migrated_database.copy_to(folder), lambda: None)
        return
    with start_postgres(durable=False) as server:

        def restart() -> None:
            server.halt()
            server.run()

        yield _lives(folder, server.url, restart)


def _lives(folder: Path, url: str, restart: Callable[[], None]) -> tuple[Facts, Facts]:
    left = _life(folder, url, "before", -9)
    restart()
    return left, _life(folder, url, "after", 0)


def _life(folder: Path, url: str, which: str, status: int) -> Facts:
    done = subprocess.run(
        (sys.executable, "-c", f"{_SET_UP}; from tests.acceptance import lives; lives.{which}()"),
        cwd=CHECKOUT,
        env={**os.environ, **_SITE, "DURABLE_STATE_DIR": str(folder), "DATABASE_URL": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == status, done.stderr
    facts: Facts = json.loads(done.stdout.splitlines()[-1])
    return facts


@pytest.mark.parametrize("task", ["approval", "pause", "signal"])
def test_a_wait_costs_nothing_however_long(lives: tuple[Facts, Facts], task: str) -> None:
    """A day, a restart and a newer build later: no Run more, no failure, the same revision."""
    left, later = lives

    assert left[task]["status"] == ("PAUSED" if task == "pause" else "WAITING")
    assert later["waited"][task] == left[task]
    assert (left[task]["runs"], left[task]["failures"]) == (1, 0)


@covers("R144", "R145")
def test_an_approval_is_answered_in_the_next_life(lives: tuple[Facts, Facts]) -> None:
    """Asked by the killed process, allowed a day later, run once by the newer build."""
    ended = lives[1]["ended"]["approval"]

    assert (ended["status"], ended["runs"], ended["failures"]) == ("COMPLETED", 2, 0)
    assert "charged 5" in json.dumps(ended["result"])


@covers("R050", "R052")
def test_a_pause_holds_in_the_next_life_until_it_is_lifted(lives: tuple[Facts, Facts]) -> None:
    """The answer in the pause is recorded; only the resume lets the Turn go on."""
    later = lives[1]

    assert later["answered"]["status"] == "PAUSED"
    assert later["answered"]["runs"] == 1
    assert later["ended"]["pause"]["status"] == "COMPLETED"
    assert later["charged"] == ["5", "5"]


@covers("R147")
def test_a_signal_reaches_a_wait_of_the_former_life(lives: tuple[Facts, Facts]) -> None:
    """Its content is the call's result."""
    ended = lives[1]["ended"]["signal"]

    assert (ended["status"], ended["runs"]) == ("COMPLETED", 2)
    assert "amount" in json.dumps(ended["result"])
