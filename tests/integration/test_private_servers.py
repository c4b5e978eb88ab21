"""A private PostgreSQL and Redis come up anywhere and leave nothing behind."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from durable_site.embedded import binaries
from durable_site.embedded.postgres_files import remove_data
from durable_site.embedded.roles import CHECKOUT
from durable_site.embedded.servers import (
    PostgresServer,
    ServerError,
    start_postgres,
    start_redis,
)
from tests.acceptance.processes import Watched, read_line

_STARTER = """
import json
from durable_site.embedded.servers import start_postgres, start_redis
servers = [start_postgres(durable=False), start_redis()]
print(json.dumps([str(folder) for each in servers for folder in each.keeper.temporary]), flush=True)
input()
for each in servers:
    each.stop()
"""


@dataclass
class Starter:
    """A process that has started both servers, and the folders of their temporary files."""

    process: subprocess.Popen[bytes]
    folders: list[Path]

    def descendants(self) -> list[psutil.Process]:
        """Return the guards and the servers with all their processes."""
        found = psutil.Process(self.process.pid).children(recursive=True)
        assert {"postgres", "redis-server"} <= {child.name() for child in found}
        return found

    def end(self) -> None:
        """Let the process stop its servers and end; harmless when it has ended."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.communicate(b"\n")


@pytest.fixture
def starter() -> Iterator[Starter]:
    """Give a process that has started both servers and stops them at the end, if it still can."""
    process = subprocess.Popen(
        (sys.executable, "-c", _STARTER),
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    made = Starter(process, [Path(folder) for folder in json.loads(read_line(process))])
    yield made
    made.end()


def test_servers_take_connections_with_their_password_only() -> None:
    """The address holds the only way in."""
    with start_postgres(durable=False) as postgres, start_redis() as cache:
        with psycopg.connect(postgres.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert redis.Redis.from_url(cache.url).ping()

        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(_without_password(postgres.url))
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(_without_password(cache.url)).ping()


def test_servers_die_with_a_killed_starter(starter: Starter) -> None:
    """A starter that could clean up nothing leaves no process and no file."""
    family = [Watched(child.pid) for child in starter.descendants()]
    there = all(folder.exists() for folder in starter.folders)

    starter.process.kill()

    for member in family:
        member.wait_gone()
    assert there
    assert not any(folder.exists() for folder in starter.folders)


def test_servers_die_with_their_killed_guards(starter: Starter) -> None:
    """The kernel ends a server whose guard was killed; the starter clears its files away."""
    watched = [Watched(child.pid) for child in starter.descendants()]

    for guard in psutil.Process(starter.process.pid).children():
        guard.send_signal(signal.SIGKILL)
    for member in watched:
        member.wait_gone()
    starter.end()

    assert starter.process.returncode == 0
    assert not any(folder.exists() for folder in starter.folders)


def test_data_stay_in_a_given_folder(postgres_folder: Path) -> None:
    """What was committed is there at the next start, under the same password."""
    with start_postgres(postgres_folder, durable=False) as server:
        server.database("kept")

    with start_postgres(postgres_folder, durable=False) as server:
        assert "kept" in _databases(server)


def test_halted_server_comes_back_with_data_and_address() -> None:
    """A test may take the database away for a while."""
    with start_postgres(durable=False) as server:
        server.database("kept")

        server.halt()
        gone = not server.is_ready()
        server.run()

        assert gone
        assert "kept" in _databases(server)


def test_first_start_that_was_killed_half_way_is_begun_anew(postgres_folder: Path) -> None:
    """An incomplete cluster is cleared away, not taken for data."""
    with start_postgres(postgres_folder, durable=False):
        pass
    (postgres_folder / "data" / "durable_site.complete").unlink()

    with start_postgres(postgres_folder, durable=False) as server:
        assert "template1" in _databases(server)


def test_failing_server_is_quoted(postgres_folder: Path) -> None:
    """The error holds what the server said."""
    with start_postgres(postgres_folder, durable=False):
        pass
    (postgres_folder / "data" / "PG_VERSION").write_text("9\n")

    with pytest.raises(ServerError, match="9"):
        start_postgres(postgres_folder, durable=False)


def test_copied_programs_run(state_dir: Path) -> None:
    """Where the account may not read the wheel, a copy of it works as well."""
    copy = binaries.readable_copy(binaries.postgres_programs(), state_dir / "programs")

    done = subprocess.run((copy / "postgres", "--version"), capture_output=True, check=False)

    assert done.returncode == 0
    assert done.stdout.startswith(b"postgres (PostgreSQL)")


@pytest.fixture
def postgres_folder(state_dir: Path) -> Iterator[Path]:
    """Give a folder for data, which for root are somewhere else, and clear both."""
    folder = state_dir / "postgres"
    yield folder
    remove_data(folder)


def _databases(server: PostgresServer) -> set[str]:
    with psycopg.connect(server.url) as connection:
        return {row[0] for row in connection.execute("SELECT datname FROM pg_database")}


def _without_password(url: str) -> str:
    scheme, rest = url.split("://")
    user, place = rest.split("@")
    return f"{scheme}://{user.split(':')[0]}@{place}"
