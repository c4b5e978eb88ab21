"""Real Celery workers over the test's own database, with the agent of `agency`."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import connection

from sessions_app.models import Host, Turn
from tests.databases import database_name
from tests.integration.brain.brains import until
from tests.sites import Site

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from pathlib import Path

    from tests.stores import Store

START = 45.0
_OTHERS_AT_WORK = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start IS NOT NULL
"""


@dataclass
class Farm:
    """Workers that share the test's database; what they do is in the oracle file."""

    store: Store
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    site: Site = field(init=False)

    def __post_init__(self) -> None:
        """Point every process at the test's database and at a broker of its own."""
        name = str(connection.settings_dict["NAME"])
        given = os.environ.get("DATABASE_URL", "")
        url = (
            given.replace(f"/{database_name(given)}", f"/{name}") if given else f"sqlite:///{name}"
        )
        environment = {
            **os.environ,
            "DURABLE_STATE_DIR": str(self.folder),
            "DATABASE_URL": url,
            "REDIS_URL": "",
            "DJANGO_SETTINGS_MODULE": "tests.integration.brain.agency.settings",
            "AGENCY_FOLDER": str(self.folder),
            "PYTHONUNBUFFERED": "1",
            "DURABLE_SCAN_SECONDS": "0.3",
            "DURABLE_RENEW_SECONDS": "1",  # also the grace after a gap in which nobody scanned
            **self.env,
        }
        self.site = Site(environment, self.folder, url)

    def worker(
        self,
        pool: str = "threads",
        *more: str,
        wait: int = 1,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a Brain worker and wait until its processes have joined."""
        known = Host.objects.count()
        command = ("-m", "celery", "-A", "durable_site", "worker", "-Q", "durable.brain")
        process = self.site.start((*command, "--pool", pool, "-l", "INFO", *more), env=env)
        until(lambda: self._alive(process) and Host.objects.count() >= known + wait, START)
        return process

    def submit(self, text: str, name: str = "chat") -> str:
        """Submit a Turn to a Session of its own."""
        return self.store.submit(self.store.session(name), text=text)

    def said(self, what: str) -> int:
        """How often the oracle heard this."""
        return [line.rsplit(" ", 1)[0] for line in self.lines()].count(what)

    def lines(self) -> list[str]:
        """Everything the oracle heard."""
        oracle = self.folder / "oracle"
        return oracle.read_text().splitlines() if oracle.exists() else []

    def hears(self, what: str) -> None:
        """Wait until the oracle has heard this."""
        until(lambda: self.said(what))

    def hold(self, what: str = "hold") -> None:
        """Make model requests (or the slow tool) wait until `let_go`."""
        (self.folder / what).touch()

    def let_go(self, what: str = "hold") -> None:
        """Let them go on."""
        (self.folder / what).unlink(missing_ok=True)

    def ended(self, turn_id: str, seconds: float = START) -> Turn:
        """Wait until the Turn has ended."""
        found: Turn = until(
            lambda: Turn.objects.filter(pk=turn_id, finished_at__isnull=False).first(), seconds
        )
        return found

    def freeze(self, process: subprocess.Popen[bytes]) -> None:
        """Stop a worker where it stands, at a moment at which it is in no transaction.

        One that sleeps with a lock would keep out every other worker, which is not what is tested.
        """
        until(lambda: self._is_frozen(process))

    def thaw(self, process: subprocess.Popen[bytes]) -> None:
        """Let it go on."""
        os.killpg(process.pid, signal.SIGCONT)

    def _is_frozen(self, process: subprocess.Popen[bytes]) -> bool:
        os.killpg(process.pid, signal.SIGSTOP)
        if not (free := _nobody_writes()):
            self.thaw(process)
        return free

    def stop(self, process: subprocess.Popen[bytes], seconds: float = 30.0) -> int:
        """Ask a worker to end, as a deploy does, and give its exit status."""
        process.send_signal(signal.SIGTERM)
        return process.wait(seconds)

    def _alive(self, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, self.site.log(process)
        return True


def _nobody_writes() -> bool:
    """Whether no other process is in a transaction of the test's database that holds a lock."""
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        file = sqlite3.connect(name, timeout=0.2, isolation_level=None)
        with closing(file), suppress(sqlite3.OperationalError):
            file.execute("BEGIN IMMEDIATE")
            return True
        return False
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS_AT_WORK)
        return bool(cursor.fetchone() == (0,))
