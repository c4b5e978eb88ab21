"""Commands and controls leave by Celery, within about a second or not at all (R178, S15, S20)."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from celery import Celery

from hands_app.transports.broker import broker_configuration
from sessions_app.transports.celery_delivery import CeleryDelivery
from tests.covers import covers, poses
from tests.integration.hands.examples import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sessions_app.ports import Executor

ABOUT_A_SECOND = 3.0


def _app(configuration: dict[str, Any]) -> Celery:
    app = Celery("delivery", set_as_current=False)
    app.conf.update(configuration, task_serializer="json", task_publish_retry=False)
    return app


@pytest.fixture
def folder_app(state_dir: Path) -> Celery:
    """Give an app whose broker is a folder."""
    return _app(broker_configuration("", state_dir))


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Give a port that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _received(app: Celery, queue: str) -> list[tuple[str, Any]]:
    """Task and arguments of each message that lies in a queue."""
    found = []
    with app.connection_for_read() as connection:
        waiting = connection.SimpleQueue(queue)
        while waiting.qsize():
            message = waiting.get(timeout=1)
            found.append((message.headers["task"], message.payload[0]))
            message.ack()
        waiting.close()
    return found


@covers("R178")
def test_commands_and_controls_have_queues_of_their_own(folder_app: Celery) -> None:
    """A backlog of commands delays no cancel and no query: they are never in one line (R178)."""
    delivery: Executor = CeleryDelivery(folder_app, "house")

    sent = [
        delivery.send("hands", '{"kind":"execute"}'),
        delivery.send("hands", '{"kind":"query"}', control=True),
        delivery.send("other", '{"kind":"execute"}'),
    ]

    assert sent == [True, True, True]
    assert _received(folder_app, "house.hands.commands") == [
        ("hands_app.execute", ['{"kind":"execute"}'])
    ]
    assert _received(folder_app, "house.hands.controls") == [
        ("hands_app.control", ['{"kind":"query"}'])
    ]
    assert len(_received(folder_app, "house.other.commands")) == 1


def test_a_broker_that_refuses_is_told_at_once(unused_tcp_port: int, tmp_path: Path) -> None:
    """Nobody listens: "not confirmed", without a wait and without an error."""
    url = f"redis://127.0.0.1:{unused_tcp_port}/0"
    delivery = CeleryDelivery(_app(broker_configuration(url, tmp_path)), "house")
    begun = time.monotonic()

    sent = delivery.send("hands", "{}")

    assert sent is False
    assert time.monotonic() - begun < ABOUT_A_SECOND


@poses("S15")
def test_a_broker_that_never_answers_holds_nobody_up(silent_port: int, tmp_path: Path) -> None:
    """A hundred sendings to a silent broker cost one bounded wait, not a hundred (S15)."""
    url = f"redis://127.0.0.1:{silent_port}/0"
    configuration = broker_configuration(url, tmp_path)
    configuration["broker_transport_options"] = {"max_retries": 0}  # sockets that wait for ever
    delivery = CeleryDelivery(_app(configuration), "house")
    begun = time.monotonic()

    sent = [delivery.send("hands", "{}") for _ in range(100)]

    assert not any(sent)
    assert time.monotonic() - begun < ABOUT_A_SECOND


def test_a_broker_that_comes_back_is_used_again(state_dir: Path) -> None:
    """A connection that failed is not used a second time."""
    app = _app(broker_configuration("", state_dir))
    messages = state_dir / "broker" / "messages"
    delivery = CeleryDelivery(app, "house")
    assert delivery.send("hands", "{}")
    away = messages.rename(messages.with_name("away"))

    lost = delivery.send("hands", "{}")
    away.rename(messages)
    found = delivery.send("hands", "{}")

    assert (lost, found) == (False, True)


def test_many_threads_may_send(folder_app: Celery) -> None:
    """Dispatch and intake of one process share the sender."""
    delivery = CeleryDelivery(folder_app, "house")
    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda: answers.append(delivery.send("hands", "{}")))
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert answers == [True] * 8
    assert len(_received(folder_app, "house.hands.commands")) == 8


@covers("R198")
def test_its_client_is_closed_by_who_made_it_and_nothing_else(folder_app: Celery) -> None:
    """Closing ends the sender's thread and connection, and leaves the app that was handed in."""
    delivery = CeleryDelivery(folder_app, "house")
    delivery.send("hands", "{}")
    sender = delivery._own()

    delivery.close()
    until(lambda: sender._connection is None, "the sender's end")

    assert delivery.send("hands", "{}")
    assert len(_received(folder_app, "house.hands.commands")) == 2
