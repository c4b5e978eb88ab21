"""A whole site for one test: its own database, state folder and broker, and real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psutil
import pytest
import redis

from durable_site.embedded.roles import CHECKOUT, Role
from tests.databases import Template, create_database, database_name, drop_database
from tests.legs import vendor

_TETHER = str(CHECKOUT / "durable_site" / "embedded" / "tether.py")
_GRACE = 10.0
_COMMAND_SECONDS = 60.0
_REDIS_DATABASES = 1024
_site_number = 0


@dataclass
class Site:
    """One installation of the house, known by the environment that its processes get."""

    environment: dict[str, str]
    state_dir: Path
    database_url: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, what: Role | tuple[str, ...], env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a role, or `python` with these arguments, in a process group of its own.

        What it prints goes to the file that `log` reads. It dies with the thread that started it,
        so that even a killed test run leaves nothing.
        """
        command = what.command if isinstance(what, Role) else (sys.executable, *what)
        own = what.env if isinstance(what, Role) else {}
        with self._log_path(len(self.processes)).open("wb") as log:
            process = subprocess.Popen(
                (sys.executable, "-S", "-E", _TETHER, str(os.getpid()), *command),
                cwd=CHECKOUT,
                env={**self.environment, **own, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def run(self, *arguments: str, timeout: float = _COMMAND_SECONDS) -> str:
        """Run `python` with these arguments to its end and return what it printed.

        Fails the test, with the output, when the exit status is not 0.
        """
        done = self.attempt(*arguments, timeout=timeout)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def attempt(
        self, *arguments: str, timeout: float = _COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run `python` with these arguments to its end, whatever that is."""
        return subprocess.run(
            (sys.executable, *arguments),
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def manage(self, *arguments: str) -> str:
        """Run a management command and return what it printed; fails the test as `run` does."""
        return self.run("manage.py", *arguments)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process and all that it started, as a crash would, and wait for its end."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def log(self, process: subprocess.Popen[bytes]) -> str:
        """Return what the process has printed so far."""
        return self._log_path(self.processes.index(process)).read_text(errors="replace")

    def close(self) -> None:
        """End every process that was started here, politely first."""
        living = [p for p in self.processes if p.poll() is None]
        for process in living:
            process.terminate()
        psutil.wait_procs([psutil.Process(p.pid) for p in living if p.poll() is None], _GRACE)
        for process in self.processes:
            self.kill(process)

    def _log_path(self, number: int) -> Path:
        return self.state_dir / f"process-{number}.log"


@pytest.fixture
def fresh_site(migrated_database: Template, state_dir: Path) -> Iterator[Site]:
    """Give a migrated, empty site with nothing running; all it started ends with the test."""
    url = migrated_database.copy_to(state_dir)
    environment = {**os.environ, "DURABLE_STATE_DIR": str(state_dir), "DATABASE_URL": url}
    environment["PYTHONUNBUFFERED"] = "1"
    environment["REDIS_URL"] = broker = _redis_database()
    if vendor() == "postgresql":
        ledger = create_database()
        environment["HANDS_DATABASE_URL"] = ledger.replace("postgresql:", "postgresql+psycopg:", 1)
    site = Site(environment, state_dir, url)
    try:
        yield site
    finally:
        site.close()
        if vendor() == "postgresql":
            drop_database(database_name(url))
            drop_database(database_name(ledger))
        if broker:
            redis.Redis.from_url(broker).flushdb()


def _redis_database() -> str:
    """Return the URL of a Redis database that no other test of this run uses, or nothing."""
    global _site_number  # noqa: PLW0603 - counts the sites of this process
    _site_number += 1
    url = os.environ.get("REDIS_URL", "")
    if not url:
        return ""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = (_REDIS_DATABASES - 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    number = 1 + worker * share + _site_number % share
    return urlunsplit(urlsplit(url)._replace(path=f"/{number}"))
