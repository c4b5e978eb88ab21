"""Celery tasks of the Brain: they take an id, make one call and return. Messages are hints (law 1).

What runs agents is acknowledged early: leases recover what a dead worker leaves behind. A
duplicate, a foreign id or a wrong type finds nothing to do.
"""

from __future__ import annotations

import logging
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from celery import current_app, shared_task
from celery.exceptions import Reject
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from hands_app.contract import errors as hands
from sessions_app import harnesses
from sessions_app.brain.process import BrainProcess, Figures, Parts
from sessions_app.contract.errors import Forbidden, Incompatible, Unavailable
from sessions_app.registry import registry
from sessions_app.runtime import executors
from sessions_app.store import bodies, retention, sweeping
from sessions_app.store.backend import StoreBackend
from sessions_app.store.bell import wakeups, watch_outbox
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.outbox import StoreOutbox
from sessions_app.store.output import StoreQuestions
from sessions_app.tooling.dispatch import Dispatch
from sessions_app.tooling.intake import NOT_TAKEN, UNREADABLE, Intake
from sessions_app.transports.celery_delivery import CeleryDelivery
from sessions_app.transports.celery_wakeups import CeleryWakeups
from sessions_app.transports.celery_worker import CeleryRole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.tooling.routing import Routes

log = logging.getLogger(__name__)

_LONGEST_ID: Final = 64
_AGAIN_SECONDS: Final = 1.0
_PRUNE_SESSIONS: Final = 1000
_SWEEP_SCOPES: Final = 200
_NAMESPACE: Final = settings.DURABLE["NAMESPACE"]


def figures() -> Figures:
    """The settings of a Brain process."""
    durable = settings.DURABLE
    return Figures(
        lease=durable["LEASE_SECONDS"],
        renew=durable["RENEW_SECONDS"],
        scan=durable["SCAN_SECONDS"],
        sweep=durable["SWEEP_SECONDS"],
        drain=durable["DRAIN_SECONDS"],
        slots=durable["BRAIN_SLOTS"],
        database_threads=durable["DB_THREADS"],
        state_dir=Path(durable["STATE_DIR"]),
        accepts_changes=durable["CHANGED_DEFINITIONS"] == "accept",
    )


def make_brain() -> BrainProcess:
    """Assemble a Brain process from the rooms of the house; it runs at once.

    Raises SystemExit where an executor can never start: Celery would log any other error of a
    signal's receiver, and go on with a worker that does nothing.
    """
    try:
        brain = _assembled(executors.routes(delivery()))
    except (hands.Incompatible, ImportError, ImproperlyConfigured) as error:
        log.exception("this worker cannot run its executors")
        raise SystemExit(str(error)) from error
    watch_outbox(brain.send_due)
    return brain


def _assembled(routes: Routes) -> BrainProcess:
    return BrainProcess(
        Parts(
            backend=StoreBackend,
            agents=registry,
            adapter=harnesses.adapter,
            figures=figures(),
            answer=_answer_bell,
            dispatch=Dispatch(
                StoreOutbox(), routes, _NAMESPACE, bodies.shared, _questions(routes)
            ).tick,
            executors=routes,
            receive=Intake(StoreInbox(), routes, _NAMESPACE).receive,
        )
    )


def _questions(routes: Routes) -> StoreQuestions | None:
    """Questions that nobody else can ask; a Brain without executors of its own has none."""
    return StoreQuestions() if routes.made or routes.lent else None


@cache
def delivery() -> CeleryDelivery:
    """What carries commands to the pools' queues from this process."""
    return CeleryDelivery(current_app, _NAMESPACE)


@cache
def intake() -> Intake:
    """What takes the updates of Hands in, in this process."""
    return Intake(StoreInbox(), delivery(), _NAMESPACE)


def _answer_bell(definitions: Sequence[DefinitionKey]) -> None:
    port = wakeups()
    if isinstance(port, CeleryWakeups):
        port.answer(definitions)


role: Final = CeleryRole(make_brain, f"{_NAMESPACE}.brain", settings.DURABLE["BRAIN_SLOTS"])
role.connect()


@shared_task(name="sessions_app.advance", ignore_result=True, acks_late=False)
def advance(thread_pk: object = None, *_: object, **__: object) -> None:
    """Look at a Thread and run what is ready; returns when no more of it is left to do here."""
    brain = role.current()
    if brain is not None and isinstance(thread_pk, str) and len(thread_pk) <= _LONGEST_ID:
        brain.advance(thread_pk)


@shared_task(name="sessions_app.scan", ignore_result=True, acks_late=False)
def scan(*_: object, **__: object) -> None:
    """Look at what should have been taken long ago; any number of these is harmless (C8)."""
    brain = role.current()
    if brain is not None:
        brain.scan()


@shared_task(name="sessions_app.prune", ignore_result=True, acks_late=False)
def prune(*_: object, **__: object) -> None:
    """Delete events that retention lets go, and objects of nobody; many of these are harmless."""
    brain = role.current()
    if brain is None:
        return
    try:
        for key in brain.work(retention.some_due, _PRUNE_SESSIONS):
            brain.work(retention.prune, key)
        brain.work(sweeping.some, _SWEEP_SCOPES)
    except (Forbidden, Incompatible, Unavailable) as error:
        log.warning("events or objects are not pruned now: %s", error)


@shared_task(name="sessions_app.receive", ignore_result=True, acks_late=True)
def receive(envelope: object = None, *_: object, **__: object) -> None:
    """Take one update of Hands in; acknowledged once it is committed (R184, R192)."""
    try:
        taken = intake().receive(envelope) if isinstance(envelope, str) else UNREADABLE
    except Unavailable as away:
        time.sleep(_AGAIN_SECONDS)
        raise Reject(str(away), requeue=True) from None
    if taken in NOT_TAKEN:
        raise Reject(taken, requeue=False)
