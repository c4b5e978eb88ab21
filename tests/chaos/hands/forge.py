"""Forks Hands workers from a process that has imported everything: one is up in a moment.

Run as `python -m tests.chaos.hands.forge` it obeys one line of JSON at a time. Each worker is a
process of its own, made before it has any thread or connection (S22), and runs Celery's command.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from ctypes import CDLL
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import celery.apps.worker
import celery.bin.celery
import celery.concurrency.prefork
import celery.concurrency.thread
import celery.worker.components
import celery.worker.consumer
import kombu.transport.redis

import hands_app.host
import hands_app.tasks
import hands_app.transports.folder_broker
import hands_app.transports.updates
import tests.chaos.hands.tools
from hands_app.contract.fault_plan import parse_rule
from hands_app.contract.faults import plan
from hands_app.ledger.clock import database_now
from hands_app.ledger.engine import Database

if TYPE_CHECKING:
    from collections.abc import Callable

_PRELOADED: Final = (celery, kombu, hands_app, tests)
"""All that a worker imports before it has read its environment; what is imported here is shared."""
_PR_SET_PDEATHSIG: Final = 1
_QUIET: Final = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_standing: list[Any] = []


def main() -> None:
    """Obey until the input ends; the workers end with this process."""
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = _fork(asked) if "env" in asked else _status(asked["pid"])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _status(pid: int) -> int | None:
    """Return how a worker ended, as subprocess does; None while it lives."""
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _fork(asked: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        _become_worker(asked)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    finally:
        os._exit(1)


def _become_worker(asked: dict[str, Any]) -> None:
    CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(asked["env"])
    _arm(asked["faults"], asked["only_after"])
    _set_clock(timedelta(seconds=asked["ahead"]))
    queues = ["-Q", ",".join(asked["queues"]), "--pool", asked["pool"], "-c", str(asked["slots"])]
    sys.argv = ["celery", "-A", "hands_app.celery", "worker", *queues, "-l", "INFO", *_QUIET]
    sys.argv += ["-n", f"hands-{os.getpid()}@here"]
    celery.bin.celery.main()


def _arm(faults: dict[str, str], only_after: str | None) -> None:
    """Put a plan over the fault points; with `only_after` it sleeps until that one was passed."""
    passed = threading.Event()
    actions: dict[str, str | Callable[[str], object]] = dict(faults)
    if only_after is None:
        passed.set()
    else:
        actions[only_after] = lambda _: passed.set()
    for point, action in faults.items():
        actions[point] = _awake(passed, parse_rule(point, action).act)
    standing = plan(actions)
    standing.__enter__()
    _standing.append(standing)


def _set_clock(ahead: timedelta) -> None:
    """Have every ledger of this process go by a database clock that is ahead."""
    if ahead:
        defaults = cast("dict[str, Any]", Database.__init__.__kwdefaults__)
        defaults["clock"] = lambda connection: database_now(connection) + ahead


def _awake(passed: threading.Event, act: Callable[[str], object]) -> Callable[[str], object]:
    return lambda name: act(name) if passed.is_set() else None


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, BrokenPipeError):
        main()
