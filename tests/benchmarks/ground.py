"""Where a run stands: private PostgreSQL and Redis with durable settings, and all their names."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil
import psycopg
import redis

from durable_site.embedded.servers import start_postgres, start_redis
from tests.benchmarks.effects import FOLDER
from tests.benchmarks.engine import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from durable_site.embedded.servers import PostgresServer, RedisServer
    from tests.benchmarks.workloads import Figures

SETTINGS: Final = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
_PROBES: Final = 300
_BLOCK: Final = os.urandom(8192)
_TABLE: Final = "CREATE TABLE IF NOT EXISTS probe (id serial PRIMARY KEY, body text)"
_INSERT: Final = "INSERT INTO probe (body) VALUES (%s)"


@dataclass
class Ground:
    """One run's servers, and the environment that every measured process gets."""

    folder: Path
    postgres: PostgresServer
    redis: RedisServer
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Name everything."""
        self.environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            FOLDER: str(self.folder),
            "BENCH_POSTGRES": self.postgres.url.rpartition("/")[0],
            "BENCH_REDIS": self.redis.url.rpartition("/")[0],
            "BENCH_POSTGRES_PID": str(_postmaster(self.postgres)),
            "BENCH_REDIS_PID": str(_redis_pid(self.redis)),
            "DJANGO_SETTINGS_MODULE": "tests.benchmarks.crew.settings",
            "DURABLE_STATE_DIR": str(self.folder / "state"),
            "DURABLE_HANDS_TOOLS": "tests.benchmarks.crew.tools",
            "REDIS_URL": self.redis.url,
        }

    def site(self, name: str) -> dict[str, str]:
        """The environment of a migrated site over databases of its own."""
        ledger = self.postgres.database(f"{name}_hands")
        given = {
            **self.environment,
            "DATABASE_URL": self.postgres.database(name),
            "HANDS_DATABASE_URL": ledger.replace("postgresql:", "postgresql+psycopg:", 1),
        }
        for command in (
            ("manage.py", "migrate", "--verbosity", "0"),
            ("-m", "hands_app", "migrate"),
        ):
            subprocess.run((sys.executable, *command), cwd=CHECKOUT, env=given, check=True)
        return given

    def probe(self) -> Figures:
        """How fast the disk is just now: bare flushes, and commits of one row of 1 KB."""
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            connection.execute(_TABLE)
            commits = [
                _timed(lambda: connection.execute(_INSERT, ("x" * 1000,))) for _ in range(_PROBES)
            ]
            where = connection.execute("SHOW data_directory").fetchone()
        assert where is not None
        return {
            "commit p50 ms": statistics.median(commits) * 1000,
            "fdatasync p50 ms": statistics.median(_flushes(Path(where[0]))) * 1000,
        }

    def settings(self) -> dict[str, str]:
        """What makes the database durable, as it says itself."""
        with psycopg.connect(self.postgres.url) as connection:
            rows = {name: connection.execute(f"SHOW {name}").fetchone() for name in SETTINGS}
        return {name: str(row[0]) for name, row in rows.items() if row is not None}


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """Start the servers; they end with the block, and their data with them."""
    (folder / "state").mkdir(mode=0o700)
    with start_postgres() as postgres, start_redis() as broker:
        yield Ground(folder, postgres, broker)
        _settle(postgres)


def _settle(postgres: PostgresServer) -> None:
    """Write down what a run has left in memory: the server is not given long for it at its end."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def _postmaster(postgres: PostgresServer) -> int:
    with psycopg.connect(postgres.url) as connection:
        return psutil.Process(connection.info.backend_pid).ppid()


def _redis_pid(broker: RedisServer) -> int:
    with redis.Redis.from_url(broker.url) as client:
        return int(client.info("server")["process_id"])


def _flushes(data: Path) -> list[float]:
    """Flush one block again and again, on the file system that holds the database."""
    path = data / "durable-probe"
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        os.pwrite(file, _BLOCK * 64, 0)
        os.fsync(file)
        return [_timed(partial(_flush, file)) for _ in range(_PROBES)]
    finally:
        os.close(file)
        path.unlink()


def _flush(file: int) -> None:
    os.pwrite(file, _BLOCK, 0)
    os.fdatasync(file)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
