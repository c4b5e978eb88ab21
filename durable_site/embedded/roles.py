"""The roles of the house and their commands. How a role is kept alive does not live here."""

import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hands_app.contract import queues

CHECKOUT = Path(__file__).resolve().parents[2]

_BRAIN_SLOTS = 8
_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_WORKER_READY = re.compile(r"@\S+ ready\.")
_BEAT_READY = re.compile(r"beat: Starting\.\.\.")
FLOWER_READY = re.compile(r"Visit me at (\S+)")
_WEB_READY = re.compile(r"Uvicorn running on ")


@dataclass(frozen=True)
class Role:
    """One process to keep alive: what to run and how it says that it is ready."""

    name: str
    command: tuple[str, ...]
    ready: re.Pattern[str] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    sockets: tuple[int, ...] = ()
    restart: bool = True

    def without_restart(self) -> "Role":
        """Return the same role, which stays dead once it has died."""
        return replace(self, restart=False)


def web(listening: int) -> Role:
    """Serve HTTP on an inherited listening socket, so that a restart keeps the address."""
    command = python(
        *("-m", "uvicorn", "durable_site.asgi:application", "--fd", str(listening)),
        *("--no-access-log", "--timeout-graceful-shutdown", "3"),
    )
    return Role("web", command, _WEB_READY, sockets=(listening,))


def brains(env: Mapping[str, str], count: int = 2) -> list[Role]:
    """Drive the agents' reasoning loops: `count` processes, each with a slot per running Turn."""
    queue = f"{namespace(env)}.brain"
    slots = int(env.get("DURABLE_BRAIN_SLOTS") or _BRAIN_SLOTS)
    return [_worker(env, f"brain-{n}", "durable_site", queue, slots) for n in range(1, count + 1)]


def intake(env: Mapping[str, str]) -> Role:
    """Take in what Hands report."""
    return _worker(env, "intake", "durable_site", queues.updates(namespace(env)), 2)


def hands(env: Mapping[str, str], slots: int = 8) -> list[Role]:
    """Run the tools of each route, each with a second process for its controls."""
    named = env.get("DURABLE_HANDS_ROUTES") or queues.DEFAULT_ROUTE
    routes = dict.fromkeys(route.strip() for route in named.split(",") if route.strip())
    return [role for route in routes for role in _pool(env, route, slots)]


def _pool(env: Mapping[str, str], route: str, slots: int) -> list[Role]:
    work, control = queues.commands(namespace(env), route), queues.controls(namespace(env), route)
    return [
        _worker(env, route, "hands_app.celery", work, slots),
        _worker(env, f"{route}-controls", "hands_app.celery", control, 1),
    ]


def beat() -> Role:
    """Ask for a scan every second."""
    command = python(
        *("-m", "celery", "-A", "durable_site", "beat"),
        *("--scheduler", "celery.beat:Scheduler", "--loglevel", "INFO"),
    )
    return Role("beat", command, _BEAT_READY)


def provider(listening: int) -> Role:
    """Be the demo's model provider, scripted, on an inherited listening socket."""
    command = python("-m", "durable_site.demo", "--fd", str(listening))
    return Role("provider", command, re.compile("^provider ready"), sockets=(listening,))


def flower(login: str) -> Role:
    """Show Celery's workers and tasks on a free loopback port, behind `login` (name:password)."""
    command = python(
        *("-m", "celery", "-A", "durable_site", "flower"), "--address=127.0.0.1", "--port=0"
    )
    # In the environment, because every account can read the arguments of a command.
    return Role("flower", command, FLOWER_READY, env={"FLOWER_BASIC_AUTH": login})


def python(*arguments: str) -> tuple[str, ...]:
    """Return a command of the interpreter that runs now."""
    return (sys.executable, *arguments)


def namespace(env: Mapping[str, str]) -> str:
    """Return the prefix of queue names."""
    return env.get("DURABLE_NAMESPACE") or queues.DEFAULT_NAMESPACE


def _worker(env: Mapping[str, str], name: str, app: str, queue: str, slots: int) -> Role:
    command = python(
        *("-m", "celery", "-A", app, "worker", "-Q", queue, "--pool", "threads"),
        *("--concurrency", str(slots), "-n", _node(env, name), "--loglevel", "INFO"),
        *_QUIET,
        *(("--task-events",) if env.get("REDIS_URL") else ()),
    )
    return Role(name, command, _WORKER_READY)


def _node(env: Mapping[str, str], name: str) -> str:
    """Name a worker so that two systems on one broker never share a node name."""
    folder = hashlib.sha256(env["DURABLE_STATE_DIR"].encode()).hexdigest()[:8]
    return f"{name}@{namespace(env)}-{folder}"
