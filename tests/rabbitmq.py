"""A private RabbitMQ node on ports of its own, where Debian's package is installed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from kombu import Connection
from kombu.exceptions import OperationalError

_PROGRAM: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_TETHER: Final = Path(__file__).resolve().parents[1] / "durable_site" / "embedded" / "tether.py"
_READY_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.1
_LOOPBACK: Final = "127.0.0.1"
_ONE_CORE: Final = "+S 1:1"
_MARK: Final = "DURABLE_TEST_RUN"


def is_installed() -> bool:
    """Whether a node can be started here."""
    return _PROGRAM.is_file() and shutil.which("epmd") is not None


@dataclass
class RabbitNode:
    """A node with the account that every fresh node has, on loopback only."""

    home: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="durable-rabbit-")))
    ports: list[int] = field(default_factory=lambda: _free_ports(3))
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where to connect."""
        return f"amqp://guest:guest@{_LOOPBACK}:{self.ports[0]}//"

    def __enter__(self) -> Self:
        """Start it and return once it takes connections."""
        self.run()
        return self

    def __exit__(self, *_: object) -> None:
        """End it and remove its files."""
        self.halt()
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self) -> None:
        """Start it with nothing in it, beside a port mapper of its own."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        (self.home / "plugins").write_text("[].")
        (self.home / "rabbitmq-env.conf").touch()
        self._start("epmd", "-port", str(self.ports[2]), "-address", _LOOPBACK)
        self._start(str(_PROGRAM))
        deadline, pause = time.monotonic() + _READY_SECONDS, threading.Event()
        while not self._answers():
            assert self._running[-1].poll() is None, self._log()
            assert time.monotonic() < deadline, self._log()
            pause.wait(_LOOK_SECONDS)

    def halt(self) -> None:
        """End it at once; whoever is connected is cut off."""
        while self._running:
            process = self._running.pop()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, *command: str) -> None:
        tethered = (sys.executable, "-S", "-E", str(_TETHER), str(os.getpid()), *command)
        with (self.home / "log").open("ab") as log:
            process = subprocess.Popen(
                tethered,
                cwd=self.home,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running.append(process)

    def _environment(self) -> dict[str, str]:
        home, (amqp, distribution, mapper) = str(self.home), self.ports
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": home,
            "ERL_EPMD_PORT": str(mapper),
            "ERL_EPMD_ADDRESS": _LOOPBACK,
            "RABBITMQ_NODENAME": f"durable{amqp}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": _LOOPBACK,
            "RABBITMQ_NODE_PORT": str(amqp),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": f"{home}/data",
            "RABBITMQ_LOG_BASE": home,
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/plugins",
            "RABBITMQ_CONFIG_FILE": f"{home}/none",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{home}/none",
            "RABBITMQ_CONF_ENV_FILE": f"{home}/rabbitmq-env.conf",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ONE_CORE,
            # By this mark `tests/run.py` finds what a killed leg has left running.
            **({_MARK: os.environ[_MARK]} if _MARK in os.environ else {}),
        }

    def _answers(self) -> bool:
        with suppress(OSError, OperationalError), Connection(self.url, connect_timeout=2) as link:
            link.connect()
            return True
        return False

    def _log(self) -> str:
        return (self.home / "log").read_text(errors="replace")[-4000:]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server((_LOOPBACK, 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in probes]
