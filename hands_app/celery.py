"""The Celery app of the Hands house: `celery -A hands_app.celery worker`.

A worker that takes a commands queue runs tools; one that takes controls only obeys (R178). The
host is made in the process that does the work: in each child of a prefork pool, else here (S22).
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from celery import signals
from celery.concurrency.prefork import TaskPool as PreforkPool

from hands_app import host
from hands_app.contract import queues
from hands_app.contract.catalogue import load_catalogue
from hands_app.contract.errors import Incompatible
from hands_app.settings import read_environment
from hands_app.transports.app import make_app
from hands_app.transports.broker import see_that_children_get_messages
from hands_app.transports.updates import CeleryUpdates
from hands_app.worker.limits import confine
from hands_app.worker.ports import HostProfile

_log = logging.getLogger(__name__)

# Celery takes the current folder off the path again once it has this app; tools come later.
sys.path.append(str(Path.cwd()))

configuration = read_environment()
configuration.make_state_dir()
app = make_app(configuration)

_profiles: list[HostProfile] = []
_lent: list[CeleryUpdates] = []
_forced: list[str] = []


@signals.celeryd_after_setup.connect
def _prepare(instance: Any, **_: object) -> None:  # noqa: ANN401 - Celery's own Worker
    """Before any connection to the broker: see what this worker is for; serve unless it forks."""
    forks = issubclass(instance.pool_cls, PreforkPool)
    consumed = list(instance.app.amqp.queues.consume_from)
    try:
        if forks:
            see_that_children_get_messages(configuration)
        _profiles.append(profile_of(consumed, 1 if forks else instance.concurrency))
        load_catalogue(configuration.tools)  # once for all children; errors show before any
    except Exception as error:  # the outermost frame of a signal
        raise _cannot_serve(error) from error
    if not forks:
        _serve()


@signals.worker_process_init.connect
def _serve(**_: object) -> None:
    if not _profiles:
        return  # a solo pool sends this signal before the worker's queues are known
    try:
        if _profiles[-1].role == "work":
            confine(configuration)
        _lent.append(CeleryUpdates(app, configuration.updates_queue))
        host.serve(host.Host(configuration, _profiles[-1], _lent[-1]))
    except Exception as error:  # the outermost frame of a signal
        raise _cannot_serve(error) from error


@signals.task_unknown.connect
def _unknown_task(**_: object) -> None:
    host.refuse("no task of Hands")


@signals.task_rejected.connect
def _no_task(**_: object) -> None:
    host.refuse("not in the form of a task")


@signals.worker_shutting_down.connect
def _drain(how: str = "", **_: object) -> None:
    """Begin to end, by force where Celery was told to stop cold (SIGQUIT, a second SIGINT)."""
    if how == "Cold":
        _forced.append(how)
    host.drain()


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def _close(**_: object) -> None:
    """Close the host first, then what it was lent (R259)."""
    host.close(force=bool(_forced))
    while _lent:
        _lent.pop().close()


def profile_of(consumed: list[str], slots: int) -> HostProfile:
    """Read from its queues what a worker is for; raise Incompatible when that makes no sense."""
    found = {name: queues.pool_queue(configuration.namespace, name) for name in consumed}
    ours = [queue for queue in found.values() if queue is not None]
    strange = sorted(name for name, queue in found.items() if queue is None)
    if strange or not ours:
        example = queues.commands(configuration.namespace, queues.DEFAULT_ROUTE)
        message = f"give queues like {example} by -Q; no pool of this namespace has {strange}"
        raise Incompatible(message)
    working = {queue.route for queue in ours if queue.kind == "commands"}
    controlled = {queue.route for queue in ours if queue.kind == "controls"}
    if working and controlled - working:
        message = f"a worker that runs tools cannot obey for other pools: {controlled - working}"
        raise Incompatible(message)
    role = "work" if working else "control"
    return HostProfile(role, tuple(sorted(working or controlled)), slots)


def _cannot_serve(error: Exception) -> SystemExit:
    """Leave the worker: Celery would log what a signal's receiver raises, and go on without."""
    _log.error("this worker cannot serve", exc_info=error)
    return SystemExit(str(error))
