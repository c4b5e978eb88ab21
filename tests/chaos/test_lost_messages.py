"""Brokers that forget, reset and refuse while work is in flight (C3, C4, C5)."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import pytest
import redis
from kombu import Connection

from durable_site.embedded.servers import start_redis
from hands_app.transports.lost_redis import close_without_connection
from sessions_app.contract.status import CallState, TurnStatus
from sessions_app.models import ToolCall, Turn
from tests.chaos.brokers import RedisBroker
from tests.chaos.field import TIMEOUT, until
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.chaos.field import Field

pytestmark = pytest.mark.timeout(TIMEOUT)

TURNS: Final = 30
BOUNDED: Final = 5.0
PERIOD: Final = 0.1
ROUNDS: Final = 30


@contextmanager
def again_and_again(act: Callable[[], object], rounds: int = ROUNDS) -> Iterator[None]:
    """Act so many times on a thread of its own, and wait for the last at the end of the block."""
    pause = threading.Event()

    def run() -> None:
        for _ in range(rounds):
            act()
            pause.wait(PERIOD)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _all_completed(crowd: Field, count: int) -> None:
    crowd.all_end(count)
    assert Turn.objects.filter(status=TurnStatus.COMPLETED).count() == count
    assert not ToolCall.objects.exclude(state=CallState.COMPLETED).exists()
    crowd.each_effect_once(["once", "errand"])
    crowd.verdict()


@poses("C2", "C4")
def test_c4_turns_and_commands_outlive_a_broker_that_forgets_and_goes_away(crowd: Field) -> None:
    """Emptied again and again, away, back without its data: each effect once (C2, C4, I15, I27)."""
    brain = crowd.brain()
    crowd.hands()
    crowd.is_ready(brain)
    plan = [(f"chat-{n}", "once errand" if n % 5 == 0 else "once say") for n in range(TURNS)]

    with again_and_again(crowd.broker.forget):
        crowd.submit(plan)
    crowd.broker.vanish()
    took = crowd.submit([("dark-1", "once"), ("dark-2", "errand")])
    crowd.broker.come_back()

    assert max(took) < BOUNDED
    _all_completed(crowd, TURNS + 2)


@poses("C3")
def test_c3_a_worker_lets_go_of_a_redis_that_went_away() -> None:
    """A message not yet acknowledged when Redis stops ends nobody: it waits there (C3, I44)."""
    close_without_connection()
    with start_redis() as server:
        link = Connection(server.url)
        queue = link.SimpleQueue("work")
        queue.put("held")
        held = queue.get(timeout=5)

        server.halt()
        with suppress(OSError, redis.RedisError):
            link.collect()  # as a worker does when it has lost its connection

        link.close()
        held.ack()


@poses("C3")
@pytest.mark.postgresql
def test_c3_turns_settle_whatever_becomes_of_the_connections(crowd: Field) -> None:
    """Every connection of Redis is reset three times under load (C3, I41)."""
    brain = crowd.brain()
    crowd.is_ready(brain)
    assert isinstance(crowd.broker, RedisBroker)

    with crowd.broker.client() as client, again_and_again(lambda: _reset(client), 3):
        crowd.submit([(f"chat-{n}", "once say") for n in range(TURNS)])

    _all_completed(crowd, TURNS)
    assert crowd.farm.stop(brain) == 0, crowd.log(brain)


def _reset(client: redis.Redis) -> None:
    for kind in ("normal", "pubsub"):
        client.client_kill_filter(_type=kind, skipme=True)


@poses("C5")
@pytest.mark.postgresql
def test_c5_a_full_redis_refuses_hints_and_no_work(crowd: Field) -> None:
    """Full and set to refuse: submits answer in bounded time and every Turn completes (C5, I44)."""
    brain = crowd.brain()
    crowd.is_ready(brain)
    assert isinstance(crowd.broker, RedisBroker)
    with crowd.broker.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "2mb")
        until(lambda: _is_full(client))

        took = crowd.submit([(f"chat-{n}", "once say") for n in range(TURNS)])

        _all_completed(crowd, TURNS)
        assert max(took) < BOUNDED
        assert _is_full(client)


def _is_full(client: redis.Redis) -> bool:
    """Put something more into it, unless it refuses."""
    try:
        for _ in range(100):
            client.rpush("filler", b"x" * 10_000)
    except redis.exceptions.OutOfMemoryError:
        return True
    return False
