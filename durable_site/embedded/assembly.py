"""Puts the embedded system together: its environment, roles, tables and listening socket."""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from durable_site.embedded import roles
from durable_site.embedded.process import RoleProcess
from durable_site.embedded.rolelog import RoleLog
from durable_site.embedded.roles import Role, python
from durable_site.embedded.supervisor import RoleFailedError, environment

LOOPBACK = "127.0.0.1"
FIRST_CHOICE = 8000

_DRAIN_SECONDS = 8.0
_URLS = ("DATABASE_URL", "HANDS_DATABASE_URL", "REDIS_URL", "RABBITMQ_URL")
_MIGRATE_SECONDS = 120.0
_AFTER_KILL = 5.0
_LONGER_THAN_DRAIN = 4.0


def embedded_environment(folder: Path, **values: str) -> dict[str, str]:
    """Return the house's variables for the roles of one state folder; `values` win over ours."""
    ours = {k: v for k, v in os.environ.items() if k.startswith("DURABLE_") or k in _URLS}
    drain = {"DURABLE_DRAIN_SECONDS": str(_DRAIN_SECONDS)}
    return {**drain, **ours, **values, "DURABLE_STATE_DIR": str(folder)}


def grace(env: Mapping[str, str]) -> float:
    """Return how long a role may take to stop: the Brain's own drain and a little more."""
    return float(env["DURABLE_DRAIN_SECONDS"]) + _LONGER_THAN_DRAIN


def listen(port: int | None = None) -> socket.socket:
    """Listen on loopback: on this port or not at all, without one on the first that is free."""
    for candidate in (port,) if port is not None else (FIRST_CHOICE, 0):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the accepted inherit it
        try:
            listening.bind((LOOPBACK, candidate))
            listening.listen(128)
        except OSError:
            listening.close()
            continue
        return listening
    message = f"port {port} on {LOOPBACK} is taken"
    raise OSError(message)


def address(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listening.getsockname()
    return f"http://{host}:{port}"


def every_role(env: Mapping[str, str], web: socket.socket, brains: int = 2) -> list[Role]:
    """Return one role of each kind, and as many Brains as wished."""
    return [
        roles.web(web.fileno()),
        *roles.brains(env, brains),
        roles.intake(env),
        *roles.hands(env),
        roles.beat(),
    ]


def migrate(env: Mapping[str, str]) -> None:
    """Bring the tables of both houses up to date; only the embedded system does so by itself."""
    manage = str(roles.CHECKOUT / "manage.py")
    run_to_end(
        [
            Role("migrate", python(manage, "migrate", "--no-input")),
            Role("migrate-hands", python("-m", "hands_app", "migrate")),
        ],
        env,
    )


def run_to_end(
    commands: Sequence[Role], env: Mapping[str, str], timeout: float = _MIGRATE_SECONDS
) -> None:
    """Run commands side by side; they die with this process.

    Raises RoleFailedError with the last lines of one that failed.
    """
    deadline = time.monotonic() + timeout
    started = [_start(command, env) for command in commands]
    try:
        for process in started:
            if not process.join(deadline - time.monotonic()) or process.status != 0:
                raise RoleFailedError.of(process, f"failed ({process.ending})")
    finally:
        for process in started:
            process.kill()
            process.join(_AFTER_KILL)
            process.log.close()


def _start(command: Role, env: Mapping[str, str]) -> RoleProcess:
    log = RoleLog(Path(env["DURABLE_STATE_DIR"]) / "logs" / f"{command.name}.log")
    process = RoleProcess(command.without_restart(), environment(env), log, lambda _: None)
    process.start()
    return process
