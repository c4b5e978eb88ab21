"""A private PostgreSQL and a private Redis, for `make up FULL=1` and for the tests.

They listen on loopback only, on free ports, behind a random password, keep all their files in one
folder, and end with whoever started them, however that ends.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql

from durable_site.embedded import binaries, postgres_files
from durable_site.embedded.binaries import Account, ServerError
from durable_site.embedded.keeper import Keeper

__all__ = (
    "PostgresServer",
    "RedisServer",
    "ServerError",
    "start_postgres",
    "start_redis",
)

_ATTEMPTS = 3
_READY_SECONDS = 30.0
_LOOK_SECONDS = 0.02
_USER = "durable"
_QUICK = ("fsync=off", "full_page_writes=off")
_LOOPBACK = "127.0.0.1"

_ServerT = TypeVar("_ServerT", "PostgresServer", "RedisServer")


@dataclass
class Server(ABC):
    """A running server; leaving its context stops it."""

    url: str
    """Where to connect, password included."""
    keeper: Keeper

    @abstractmethod
    def is_ready(self) -> bool:
        """Say whether the server takes connections, each kind in its own way."""

    def wait_ready(self) -> None:
        """Return once the server takes connections; raises ServerError when it does not come up."""
        deadline = time.monotonic() + _READY_SECONDS
        while not self.is_ready():
            self.keeper.check()
            if time.monotonic() > deadline:
                message = f"no connection to {type(self).__name__} within {_READY_SECONDS:.0f} s"
                raise ServerError(message)
            time.sleep(_LOOK_SECONDS)

    def halt(self) -> None:
        """Stop the server for a while; its data, port and password stay."""
        self.keeper.halt()

    def run(self) -> None:
        """Start a halted server again and return once it takes connections."""
        self.keeper.run()
        self.wait_ready()

    def stop(self) -> None:
        """End the server and remove its temporary files; harmless when it has ended already."""
        self.keeper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class PostgresServer(Server):
    """A running PostgreSQL; `url` leads to its database `postgres`."""

    def is_ready(self) -> bool:
        """Say whether the server takes connections."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def database(self, name: str) -> str:
        """Return the URL of a database, made when it is missing."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
            with contextlib.suppress(psycopg.errors.DuplicateDatabase):
                connection.execute(create)
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{quote(name)}"))


class RedisServer(Server):
    """A running Redis with 1,024 numbered databases; `url` leads to number 0."""

    def is_ready(self) -> bool:
        """Say whether the server takes connections."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def start_postgres(folder: Path | None = None, *, durable: bool = True) -> PostgresServer:
    """Start a private PostgreSQL and return once it takes connections.

    Its data stay in `folder` for the next start; without a folder they vanish at its end. When root
    starts it, another account runs it, which cannot enter root's private folders: the data then
    stand under /var/lib/durable_site, and `folder/data` is a link to them. `durable=False` saves
    the disk flushes and can lose data when the machine loses power, but not when the server dies.

    Raises ServerError without PostgreSQL or when it does not come up.
    """
    programs, account = binaries.postgres_programs(), binaries.account()
    return _with_a_free_port(
        lambda port: _postgres(folder, programs, account, port, durable=durable)
    )


def start_redis() -> RedisServer:
    """Start a private Redis, which stores nothing, and return once it takes connections.

    Raises ServerError without Redis or when it does not come up.
    """
    program = binaries.redis_server()
    return _with_a_free_port(lambda port: _redis(program, port))


def _with_a_free_port(start: Callable[[int], _ServerT]) -> _ServerT:
    """Start on a port that is free now; another process may be faster, so try again."""
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(ServerError):
            return start(_free_port())
    return start(_free_port())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _redis(program: Path, port: int) -> RedisServer:
    home = Path(tempfile.mkdtemp(prefix="durable-redis-"))
    password = secrets.token_urlsafe(24)
    settings = home / "redis.conf"
    settings.touch(mode=0o600)
    settings.write_text(
        f"bind {_LOOPBACK}\nport {port}\nrequirepass {password}\ndatabases 1024\n"
        f'save ""\nappendonly no\ndaemonize no\ndir "{home}"\n'
    )
    keeper = Keeper(
        "Redis",
        {
            "prepare": [],
            "command": [str(program), str(settings)],
            "folder": str(home),
            "env": _environment(),
            "log": str(home / "redis.log"),
            "account": None,
            "stop_signal": signal.SIGTERM,
            "death_signal": signal.SIGKILL,
            "remove": [str(home)],
        },
    )
    return _ready(RedisServer(f"redis://:{password}@{_LOOPBACK}:{port}/0", keeper))


def _postgres(
    folder: Path | None, programs: Path, account: Account | None, port: int, *, durable: bool
) -> PostgresServer:
    home = Path(
        tempfile.mkdtemp(prefix="durable-postgres-", dir=postgres_files.temporary_folder(account))
    )
    home.chmod(0o755)
    if account is not None and not account.can_run(programs / "postgres"):
        programs = binaries.readable_copy(programs, home / "programs")
    data = postgres_files.data_folder(folder or home, account)
    password = postgres_files.data_password(folder or home)
    entry = home / "entry"
    entry.touch(mode=0o600)
    entry.write_text(password)
    if account is not None:
        os.chown(entry, account.uid, account.gid)
    keeper = Keeper(
        "PostgreSQL",
        {
            "prepare": _preparation(programs, data, entry),
            "command": _postgres_command(programs, data, port, durable=durable),
            "folder": str(home),
            "env": _environment(),
            "log": str(home / "postgres.log"),
            "account": (account.uid, account.gid) if account else None,
            "stop_signal": signal.SIGINT,  # fast: ends sessions, then shuts down in good order
            "death_signal": signal.SIGQUIT,  # at once; the next start repairs
            "remove": [str(home)],
        },
    )
    url = f"postgresql://{_USER}:{password}@{_LOOPBACK}:{port}/postgres"
    return _ready(PostgresServer(url, keeper))


def _ready(server: _ServerT) -> _ServerT:
    try:
        server.wait_ready()
    except BaseException:
        server.stop()
        raise
    return server


def _preparation(programs: Path, data: Path, entry: Path) -> list[list[str]]:
    """Return the commands that make the database cluster, none when it is there and complete."""
    complete = data / "durable_site.complete"
    if complete.exists():
        return []
    for left_over in data.iterdir():  # of a first start that was killed half-way
        shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
    initdb = [
        *(str(programs / "initdb"), "--pgdata", str(data), "--username", _USER),
        *("--auth", "scram-sha-256", "--pwfile", str(entry)),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"),
    ]
    return [initdb, ["touch", str(complete)]]


def _postgres_command(programs: Path, data: Path, port: int, *, durable: bool) -> list[str]:
    settings = [
        f"port={port}",
        f"listen_addresses={_LOOPBACK}",
        "unix_socket_directories=",
        "dynamic_shared_memory_type=mmap",  # in the data folder, so that nothing is left elsewhere
        "max_connections=200",
        "log_min_messages=warning",
        *(() if durable else _QUICK),
    ]
    options = [part for setting in settings for part in ("-c", setting)]
    return [str(programs / "postgres"), "-D", str(data), *options]


def _environment() -> dict[str, str]:
    """Return the servers' environment: nothing of ours, and plain messages."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
