"""Where a worker's Brain lives, for each pool and each role (S22, S24)."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from sessions_app.transports.celery_worker import CeleryRole
from tests.covers import poses
from tests.unit.brain.brainlets import until

QUEUE = "durable.brain"


class Brain:
    """Remembers what became of it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.steps: list[str] = []

    def drain(self, seconds: float | None = None) -> bool:
        """Hand over."""
        self.steps.append("drain" if seconds is None else f"drain {seconds}")
        return True

    def close(self) -> None:
        """End."""
        self.steps.append("close")


def worker(pool: str, *queues: str) -> Any:
    """A worker as Celery's signal shows it."""
    consumed = dict.fromkeys(queues or (QUEUE,))
    return SimpleNamespace(
        pool_cls=pool, app=SimpleNamespace(amqp=SimpleNamespace(queues=_Queues(consumed)))
    )


class _Queues:
    def __init__(self, consumed: dict[str, None]) -> None:
        self.consume_from = consumed


@pytest.fixture
def role() -> CeleryRole[Brain]:
    """Give a role that follows no signal."""
    return CeleryRole(Brain, QUEUE, slots=8)


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_threads_and_solo_run_the_brain_in_the_worker(role: CeleryRole[Brain], pool: str) -> None:
    """From before the worker connects to its broker."""
    role._worker_begins(sender=worker(pool))

    assert role.current() is not None


@poses("S22")
def test_s22_a_prefork_parent_runs_nothing(role: CeleryRole[Brain]) -> None:
    """Neither when it begins nor when Celery speaks of a child in its own process."""
    role._worker_begins(sender=worker("prefork"))
    role._child_begins()

    assert role.current() is None


@poses("S22")
def test_s22_a_child_makes_its_own_brain_and_hears_the_parents_shutdown(
    role: CeleryRole[Brain],
) -> None:
    """The byte that both share carries the word."""
    role._worker_begins(sender=worker("prefork"))
    role._parent = -1  # as seen from a child
    role._child_begins()
    brain = role.current()
    assert brain is not None

    role._worker_is_told()

    until(lambda: brain.steps == ["drain"])


def test_a_worker_of_other_queues_runs_no_brain(role: CeleryRole[Brain]) -> None:
    """The intake takes in updates and claims nothing."""
    role._worker_begins(sender=worker("threads", "durable.updates"))

    assert role.current() is None


@poses("S24")
def test_s24_a_worker_that_ends_drains_before_it_closes(role: CeleryRole[Brain]) -> None:
    """Whatever ended it."""
    role._worker_begins(sender=worker("threads"))
    brain = role.current()
    assert brain is not None

    role._end()

    assert brain.steps == ["drain", "close"]


def test_a_pool_that_the_brain_does_not_know_is_refused(role: CeleryRole[Brain]) -> None:
    """Green threads would run the loop and its threads on one stack."""
    with pytest.raises(ImproperlyConfigured):
        role._worker_begins(sender=worker("gevent"))


def test_a_threads_pool_gets_one_thread_a_slot(role: CeleryRole[Brain]) -> None:
    """Unless somebody gave its size."""
    conf: Any = SimpleNamespace(worker_concurrency=None)
    role._size_pool(conf=conf, options={"pool_cls": "threads", "queues": [QUEUE]})
    assert conf.worker_concurrency == 8

    given: Any = SimpleNamespace(worker_concurrency=None)
    role._size_pool(conf=given, options={"pool_cls": "threads", "queues": QUEUE, "concurrency": 2})
    assert given.worker_concurrency is None
