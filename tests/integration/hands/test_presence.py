"""Locks that vanish with their process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from hands_app.contract.errors import Unavailable
from hands_app.contract.ids import new_id
from hands_app.ledger.presence import AdvisoryPresence, FilePresence, presence_for
from tests.covers import poses
from tests.integration.hands.examples import until
from tests.integration.hands.workers import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from hands_app.worker.ports import Presence

HOLDER = """
import sys
from hands_app.ledger.engine import Database
from hands_app.ledger.presence import presence_for
presence = presence_for(Database(sys.argv[1]))
print(presence.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def presence(database: Database) -> Iterator[Presence]:
    """Hold the presence of a host."""
    held = presence_for(database)
    held.take(new_id("host_"))
    yield held
    held.drop()


def hold(url: str) -> tuple[subprocess.Popen[str], str]:
    """Start a process that holds a presence, and return it with what others test."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, new_id("host_")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@poses("S4")
def test_two_hosts_of_one_process_hold_each_their_own_lock(tmp_path: Path) -> None:
    """Neither takes the other for dead, and a look at it does not free it for other processes."""
    one, other = FilePresence(tmp_path), FilePresence(tmp_path)
    names = [one.take(new_id("host_")), other.take(new_id("host_"))]

    seen_inside = [one.are_gone(names), other.are_gone(names)]
    script = "import sys, pathlib; from hands_app.ledger.presence import FilePresence as F;"
    script += "print(sorted(F(pathlib.Path(sys.argv[1])).are_gone(sys.argv[2:])))"
    command = [sys.executable, "-c", script, str(tmp_path), *names]
    seen_outside = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    one.drop()

    assert seen_inside == [frozenset(), frozenset()]
    assert seen_outside.stdout.strip() == "[]"
    assert other.are_gone(names) == {names[0]}
    other.drop()


@poses("S4")
def test_the_death_of_a_process_frees_its_lock(presence: Presence, ledger_url: str) -> None:
    """S4: seen at once, without waiting for a lease."""
    process, theirs = hold(ledger_url)
    with process:
        assert presence.are_gone([theirs]) == frozenset()
        process.kill()
        process.wait(10)

        until(lambda: presence.are_gone([theirs]) == {theirs}, "the free lock", 10)


@poses("S4")
def test_the_own_lock_survives_looking_at_others(presence: Presence, ledger_url: str) -> None:
    """S4: a look, even at all hosts of the pool, never frees what this process holds."""
    own = presence.take(new_id("host_")) if isinstance(presence, FilePresence) else ""
    presence.are_gone([own, "missing"])
    process, theirs = hold(ledger_url)
    with process:
        assert presence.is_held()
        assert presence.are_gone([theirs, own]) in (frozenset(), {own})
        process.kill()


def test_a_lock_that_was_dropped_counts_as_gone(database: Database, presence: Presence) -> None:
    """A host that says goodbye is not looked for."""
    other = presence_for(database)
    name = other.take(new_id("host_"))
    other.drop()

    assert presence.are_gone([name]) == {name}
    assert not other.is_held()


@poses("S4")
@pytest.mark.postgresql
def test_a_broken_connection_is_noticed_and_the_lock_taken_again(
    database: Database, presence: Presence
) -> None:
    """S4: a restarted server frees locks of the living, so they take theirs again."""
    assert isinstance(presence, AdvisoryPresence)
    host_id = new_id("host_")
    name = presence.take(host_id)
    with database.read() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'hands presence' AND datname = current_database()"
            )
        )

    with pytest.raises(Unavailable):
        presence.are_gone([])
    assert not presence.is_held()
    assert presence.take(host_id) == name
    assert presence.is_held()
    assert not presence.proves_death
