"""Workers in every pool of Celery, without a broker, and busy; deaths are in tests/chaos/hands."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from durable_site.embedded.servers import start_redis
from hands_app.ledger.commands import SqlCommands
from hands_app.ledger.hosts import SqlHosts
from tests.covers import covers, poses
from tests.integration.hands import oracle_tools
from tests.integration.hands.examples import cancel, execute, query, until
from tests.integration.hands.workers import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.ledger.engine import Database

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def pool(state_dir: Path, ledger_url: str, database: Database) -> Pool:
    """Give a pool without workers."""
    return Pool(state_dir, ledger_url, database)


@pytest.fixture
def forking_pool(state_dir: Path, ledger_url: str, database: Database) -> Iterator[Pool]:
    """Give a pool without workers that has a Redis of its own."""
    with start_redis() as server:
        yield Pool(state_dir, ledger_url, database, server.url)


@poses("S22")
def test_a_prefork_pool_refuses_the_folder_broker(pool: Pool) -> None:
    """S22: its children would share one pipe; the worker says what to use, and takes nothing."""
    command = execute(oracle_tools.send.binding)
    pool.send(command)
    with pool.worker(pool="prefork") as worker:
        assert worker.wait(30) != 0

    said = (pool.state_dir / "worker-commands.log").read_text()
    assert "Incompatible" in said
    assert "--pool threads" in said
    assert pool.effects_of(command) == 0


@poses("S22")
@pytest.mark.parametrize("kind", ["prefork", "solo"])
def test_every_pool_of_celery_works(forking_pool: Pool, kind: str) -> None:
    """S22: hosts are made in the children of a fork, and say goodbye when told to stop."""
    pool = forking_pool
    command = execute(oracle_tools.send.binding)
    pool.send(command)
    with pool.worker(pool=kind) as worker:
        pool.wait_for(command, "COMPLETED")
        worker.terminate()
        assert worker.wait(20) == 0

    assert pool.effects_of(command) == 1
    assert SqlHosts(pool.database).living() == []


@poses("S20")
def test_admitted_work_is_found_without_a_broker(pool: Pool) -> None:
    """S20: the ledger alone, with a broker that was never there."""
    pool.environment["REDIS_URL"] = "redis://127.0.0.1:1/0"
    command = execute(oracle_tools.send.binding)
    SqlCommands(pool.database).admit(command, runnable=False)

    with pool.worker():
        pool.wait_for(command, "COMPLETED")

    assert pool.effects_of(command) == 1


@covers("R178", "R185")
def test_a_cancel_passes_a_busy_pool(pool: Pool) -> None:
    """R178, R185: controls have their own worker; the queued execution never starts."""
    gate = pool.state_dir / "gate"
    holding = [execute(oracle_tools.wait_for.binding, {"path": str(gate)}) for _ in range(2)]
    queued = execute(oracle_tools.send.binding)
    with pool.worker() as busy, pool.worker(queue="controls"):
        for command in holding:
            pool.send(command)
        for command in holding:
            pool.wait_for(command, "STARTED")
        pool.send(queued)  # by itself: the folder broker does not order messages of one millisecond
        pool.wait_for(queued, "ADMITTED")
        pool.send(cancel(queued))
        pool.wait_for(queued, "CANCELLED")
        pool.send(query(queued))
        until(lambda: pool.kinds(queued) == ["admitted", "result"], "the answer to the query")

        busy.send_signal(signal.SIGTERM)
        gate.touch()
        assert busy.wait(15) == 0

    assert [pool.state(command) for command in holding] == ["COMPLETED"] * 2
    assert pool.effects_of(queued) == 0


@poses("S22", "S4")
def test_a_killed_child_of_a_prefork_pool_is_noticed(forking_pool: Pool) -> None:
    """S22, S4: its executions end as their effect classes say, and another child takes its place.

    Each child bounds its own memory: a tool that wants more fails alone.
    """
    pool = forking_pool
    pool.environment["DURABLE_HANDS_MEMORY_BYTES"] = str(400 << 20)
    gate = str(pool.state_dir / "gate")
    greedy = execute(oracle_tools.hog.binding, {"size": 1 << 30})
    once = execute(oracle_tools.wait_for.binding, {"path": gate})
    again = execute(oracle_tools.put_and_wait.binding, {"path": gate})
    with pool.worker(pool="prefork"):
        pool.send(greedy)
        pool.wait_for(greedy, "FAILED")
        for command in (once, again):
            pool.send(command)
            pool.wait_for(command, "STARTED")
        doomed = [pool.host_of(command) for command in (once, again)]
        for process_id in {host.process_id for host in doomed}:
            os.kill(process_id, signal.SIGKILL)
        Path(gate).touch()

        pool.wait_for(once, "UNKNOWN")
        pool.wait_for(again, "COMPLETED")
        until(
            lambda: len(pool.hosts() - {host.host_id for host in doomed}) == 2, "two children", 45
        )

    assert pool.effects_of(once) == 1
    assert pool.effects_of(again) == 2


@covers("R260")
def test_a_worker_that_is_told_to_stop_cold_ends_in_seconds(pool: Pool) -> None:
    """R260: SIGQUIT waits for no tool; what became of the effect is for its class to say."""
    pool.environment["DURABLE_DRAIN_SECONDS"] = "100"
    running = execute(oracle_tools.wait_for.binding, {"path": str(pool.state_dir / "never")})
    with pool.worker() as worker:
        pool.send(running)
        pool.wait_for(running, "STARTED")
        worker.send_signal(signal.SIGQUIT)
        worker.wait(60)  # the promise is 5 s, the grace would be 100

    with pool.worker():
        pool.wait_for(running, "UNKNOWN")
    assert pool.effects_of(running) == 1
