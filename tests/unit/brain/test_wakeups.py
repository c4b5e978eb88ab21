"""Hints: bounded, coalesced, never an error of whoever made the commit (S15, S16)."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.identity import DefinitionKey
from sessions_app.transports.celery_wakeups import QUEUE_SIZE, CeleryWakeups
from sessions_app.transports.doorbell import NoDoorbell
from tests.covers import poses
from tests.unit.brain.brainlets import KEY, until

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHER = DefinitionKey("agent", "2")


class Bell:
    """A doorbell in memory."""

    def __init__(self) -> None:
        self.flags: set[DefinitionKey] = set()

    def press(self, definition: DefinitionKey) -> bool:
        """Set the flag if it is not set."""
        fresh = definition not in self.flags
        self.flags.add(definition)
        return fresh

    def clear(self, definitions: Iterable[DefinitionKey]) -> None:
        """Take flags away."""
        self.flags -= set(definitions)


class Broker:
    """Takes hints, until it is told not to."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.down = False
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self, thread_pk: str) -> None:
        """Publish."""
        self.answers.wait(20)
        if self.down:
            raise ConnectionRefusedError
        self.sent.append(thread_pk)


def test_without_redis_every_commit_sends_its_hint() -> None:
    """Nothing is held back."""
    broker = Broker()
    wakeups = CeleryWakeups(broker, NoDoorbell())

    wakeups.ring("thr_1", KEY)
    wakeups.ring("thr_2", KEY)

    assert wakeups.flush(5)
    assert broker.sent == ["thr_1", "thr_2"]


@poses("S16")
def test_s16_one_hint_a_definition_until_somebody_heard_it() -> None:
    """A flag that is set keeps further hints back; the receiver clears it before it claims."""
    broker = Broker()
    wakeups = CeleryWakeups(broker, Bell())

    wakeups.ring("thr_1", KEY)
    wakeups.ring("thr_2", KEY)
    wakeups.ring("thr_3", OTHER)
    assert wakeups.flush(5)
    assert broker.sent == ["thr_1", "thr_3"]

    wakeups.answer([KEY])
    wakeups.ring("thr_4", KEY)
    assert wakeups.flush(5)
    assert broker.sent == ["thr_1", "thr_3", "thr_4"]
    assert wakeups.counts.coalesced == 1


@poses("S16")
def test_s16_a_flag_does_not_outlive_a_hint_that_could_not_be_sent() -> None:
    """Else nobody would ring until it expires."""
    broker, bell = Broker(), Bell()
    wakeups = CeleryWakeups(broker, bell)
    broker.down = True

    wakeups.ring("thr_1", KEY)

    assert wakeups.flush(5)
    assert bell.flags == set()
    assert wakeups.counts.failed == 1


@poses("S15")
def test_s15_a_silent_broker_blocks_nobody_and_a_full_queue_drops() -> None:
    """Ringing returns at once, whatever the broker does; the queue is bounded."""
    broker = Broker()
    broker.answers.clear()
    wakeups = CeleryWakeups(broker, NoDoorbell())

    for number in range(QUEUE_SIZE + 50):
        wakeups.ring(f"thr_{number}", KEY)

    assert wakeups.counts.dropped >= 49
    assert not wakeups.flush(0.01)
    broker.answers.set()
    assert wakeups.flush(20)


def test_a_burst_of_failures_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A broker that is down fills no log; the next burst is told again."""
    broker = Broker()
    wakeups = CeleryWakeups(broker, NoDoorbell())
    broker.down = True

    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            wakeups.ring("thr_1", KEY)
        wakeups.flush(5)
        broker.down = False
        wakeups.ring("thr_1", KEY)
        wakeups.flush(5)
        broker.down = True
        wakeups.ring("thr_1", KEY)
        wakeups.flush(5)

    assert len(caplog.records) == 2
    assert wakeups.counts.failed == 6


@poses("S22")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_s22_a_forked_child_has_an_outbox_of_its_own() -> None:
    """The parent's thread does not exist in the child; its hints leave all the same."""
    reads, writes = os.pipe()
    wakeups = CeleryWakeups(lambda name: os.write(writes, name.encode()), NoDoorbell())
    wakeups.ring("thr_parent", KEY)
    wakeups.flush(5)

    child = os.fork()
    if child == 0:
        wakeups.ring("thr_child", KEY)
        os._exit(0 if wakeups.flush(5) else 1)

    _, status = os.waitpid(child, 0)
    assert status == 0
    until(lambda: os.read(reads, 100) == b"thr_parentthr_child")
    os.close(reads)
    os.close(writes)
