"""The database goes away, stands still or is held: Brains recover by themselves (C10, C19, C23)."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from django.db import connection, transaction

from durable_site.embedded.servers import start_postgres
from sessions_app.harnesses.scripted.model import Reply
from sessions_app.models import Session, Turn
from tests.covers import poses
from tests.integration.brain.brains import until
from tests.integration.brain.farm import START
from tests.sites import Site
from tests.stores import Gate, in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.brain.brains import Brains

pytestmark = pytest.mark.postgresql
TURNS = 6
SUBMIT = """
import django; django.setup()
from sessions_app.runtime import DurableRuntime
with DurableRuntime() as runtime:
    for n in range({turns}):
        session = runtime.create_session("acme", f"chat-{{n}}", agent="agent")
        print(session.submit("r1", "note hold note").turn_id)
"""
WAIT = """
import django; django.setup()
from sessions_app.runtime import DurableRuntime
with DurableRuntime() as runtime:
    for name in {names}:
        turn = runtime.find_turn(name).wait(60)
        print(turn.status, turn.recovery.failures if turn.recovery else 0, turn.takeovers)
"""


@poses("C10")
@pytest.mark.timeout(150)
def test_a_worker_outlives_a_restart_of_its_database(state_dir: Path) -> None:
    """Turns in mid-request settle in the same process after the server comes back (C10)."""
    with start_postgres(durable=False) as server:
        site = Site(_environment(server.url, state_dir), state_dir, server.url)
        try:
            site.manage("migrate", "-v", "0")
            celery = ("-m", "celery", "-A", "durable_site", "worker", "-Q", "durable.brain")
            worker = site.start((*celery, "--pool", "threads", "-c", str(TURNS)))
            (state_dir / "hold").touch()
            names = site.run("-c", SUBMIT.format(turns=TURNS)).split()
            until(lambda: _heard(state_dir, "model:2") == TURNS, START)

            server.halt()
            server.run()
            server.wait_ready()
            (state_dir / "hold").unlink()

            ended = site.run("-c", WAIT.format(names=names), timeout=120).splitlines()
            assert [line.split()[0] for line in ended] == ["COMPLETED"] * TURNS, site.log(worker)
            assert all(int(line.split()[1]) == 0 for line in ended), ended
            assert worker.poll() is None
            assert _heard(state_dir, "note:3") == TURNS
            site.manage("durable", "check")
        finally:
            site.close()


def _environment(url: str, folder: Path) -> dict[str, str]:
    given = {
        "DURABLE_STATE_DIR": str(folder),
        "DATABASE_URL": url,
        "REDIS_URL": "",
        "DJANGO_SETTINGS_MODULE": "tests.integration.brain.agency.settings",
        "AGENCY_FOLDER": str(folder),
        "PYTHONUNBUFFERED": "1",
    }
    return {**os.environ, **given}


def _heard(folder: Path, what: str) -> int:
    oracle = folder / "oracle"
    lines = oracle.read_text().splitlines() if oracle.exists() else []
    return sum(line.rsplit(" ", 1)[0] == what for line in lines)


def test_cut_connections_cost_no_failure(brains: Brains) -> None:
    """Every connection is ended by the server three times; all Turns complete, none is charged."""
    gate = threading.Event()
    brains.agent((Reply("hello"),), send=_held_by(gate))
    turns = [brains.store.submit(brains.store.session(f"s{n}")) for n in range(4)]
    brains.start()
    until(lambda: Turn.objects.filter(status="RUNNING").count() == 4)

    for _ in range(3):
        _cut_all_others()
    gate.set()

    for turn_id in turns:
        assert brains.ended(turn_id).failures == 0


def _held_by(gate: threading.Event) -> object:
    async def send(_transcript: object) -> None:
        import asyncio  # noqa: PLC0415 - runs on the Brain's loop

        while not gate.is_set():
            await asyncio.to_thread(gate.wait, 0.05)

    return send


def _cut_all_others() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def idle_transactions() -> Iterator[list[float]]:
    """Sample how long any session of this database is idle in a transaction, on its own thread."""
    found: list[float] = [0.0]
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.05):
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - state_change)), 0)"
                    " FROM pg_stat_activity WHERE datname = current_database()"
                    " AND state LIKE 'idle in transaction%'"
                )
                found.append(float(cursor.fetchone()[0]))

    sampler = in_thread(sample)
    yield found
    done.set()
    sampler.result(10)


@poses("C19")
def test_no_session_is_idle_in_a_transaction_during_slow_work(
    brains: Brains, idle_transactions: list[float]
) -> None:
    """While models take their time no connection holds a transaction open (C19, I42)."""
    gate = threading.Event()
    brains.agent((Reply("hello"),), send=_held_by(gate))
    turns = [brains.store.submit(brains.store.session(f"s{n}")) for n in range(4)]
    brains.start()
    until(lambda: Turn.objects.filter(status="RUNNING").count() == 4)
    seen = len(idle_transactions)
    until(lambda: len(idle_transactions) > seen + 20)
    gate.set()

    for turn_id in turns:
        brains.ended(turn_id)
    assert max(idle_transactions) < 1


@poses("C23")
def test_an_old_snapshot_does_not_stop_the_flow(brains: Brains) -> None:
    """While somebody holds a repeatable-read snapshot open, Turns pass as before (C23)."""
    gate = Gate()

    def hold() -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            Session.objects.count()
            gate("")

    holding = in_thread(hold)
    assert gate.reached.wait(10)
    brains.start(scan=5.0)
    turns = [brains.store.submit(brains.store.session(f"s{n}")) for n in range(40)]

    ended = [brains.ended(turn_id) for turn_id in turns]
    gate.open()
    holding.result(10)

    assert all(turn.failures == 0 for turn in ended)
