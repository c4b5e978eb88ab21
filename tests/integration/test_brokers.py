"""What the broker settings promise: no message breaks, and a dead broker holds nobody up."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from celery import Celery
from celery.worker import state as worker_state
from kombu import Connection
from kombu.exceptions import OperationalError

from durable_site.embedded.roles import CHECKOUT
from durable_site.embedded.servers import start_redis
from hands_app.transports.broker import broker_configuration
from tests.acceptance.processes import read_line

_MESSAGES = 2000
_PATIENCE = 3.0

_READER = """
import json, sys
from pathlib import Path
from queue import Empty
from kombu import Connection
from tests.integration.test_brokers import connection

taken = []
with connection(Path(sys.argv[1])) as link:
    queue = link.SimpleQueue("work")
    print("ready", flush=True)
    while True:
        message = queue.get(timeout=20)
        message.ack()
        if message.payload == "end":
            break
        taken.append(message.payload)
print(json.dumps(taken))
"""


def connection(state_dir: Path) -> Connection:
    """Return a connection to the folder broker that polls without a pause."""
    broker = broker_configuration("", state_dir)
    options = {**broker["broker_transport_options"], "polling_interval": 0.0005}
    return Connection(
        broker["broker_url"], transport=broker["broker_transport"], transport_options=options
    )


def test_each_message_in_the_folder_goes_whole_to_one_reader(state_dir: Path) -> None:
    """Two processes read while a third writes: nothing is lost, doubled or half written."""
    broker_configuration("", state_dir)
    command = (sys.executable, "-c", _READER, str(state_dir))
    readers = [subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE) for _ in range(2)]
    for reader in readers:
        assert read_line(reader) == "ready"

    with connection(state_dir) as link:
        queue = link.SimpleQueue("work")
        for number in range(_MESSAGES):
            queue.put(number)
        for _ in readers:
            queue.put("end")
    taken = [json.loads(reader.communicate(timeout=30)[0]) for reader in readers]

    assert sorted(taken[0] + taken[1]) == list(range(_MESSAGES))


def test_message_that_is_still_being_written_is_left_alone(state_dir: Path) -> None:
    """An empty file is no message yet; the next look finds it whole."""
    with connection(state_dir) as link:
        queue = link.SimpleQueue("work")
        queue.put("ok")
        [file] = (state_dir / "broker" / "messages").iterdir()
        text = file.read_text()

        file.write_text("")
        with pytest.raises(Empty):
            queue.get(block=False)
        file.write_text(text)

        assert queue.get(timeout=1).payload == "ok"


def test_worker_told_to_stop_takes_no_more_messages(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message stays for another worker, and the stopping one is not kept waiting."""
    with connection(state_dir) as link:
        queue = link.SimpleQueue("work")
        queue.put("ok")
        monkeypatch.setattr(worker_state, "should_stop", 0)

        with pytest.raises(TimeoutError):
            link.drain_events(timeout=_PATIENCE * 10)

        assert queue.qsize() == 1


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """Give the URL of a broker that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@pytest.fixture
def dead_broker() -> str:
    """Give the URL of a broker that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@pytest.mark.parametrize("kind", ["silent_broker", "dead_broker"])
def test_sending_to_a_dead_broker_fails_in_about_a_second(
    kind: str, request: pytest.FixtureRequest, state_dir: Path
) -> None:
    """A hint that cannot be sent is given up before anybody waits for it."""
    app = _app(request.getfixturevalue(kind), state_dir)

    begin = time.monotonic()
    with pytest.raises(OperationalError):
        app.send_task("sessions_app.scan")

    assert time.monotonic() - begin < _PATIENCE


def test_sending_works_again_once_the_broker_is_back(state_dir: Path) -> None:
    """The same app sends before, fails during and sends after an outage."""
    with start_redis() as server:
        app = _app(server.url, state_dir)
        app.send_task("sessions_app.scan")
        server.halt()
        with pytest.raises(OperationalError):
            app.send_task("sessions_app.scan")
        server.run()

        app.send_task("sessions_app.scan")

        assert _waiting(server.url) == 1


def test_reader_waits_longer_than_its_socket_timeout(state_dir: Path) -> None:
    """The short timeout that helps senders does not disturb a reader without messages."""
    with start_redis() as server, _app(server.url, state_dir).connection_for_read() as link:
        queue = link.SimpleQueue("celery")

        with pytest.raises(Empty):
            queue.get(timeout=2.5)

        queue.put("ok")
        assert queue.get(timeout=1).payload == "ok"


def _app(url: str, state_dir: Path) -> Celery:
    app = Celery("test", set_as_current=False)
    app.conf.update(broker_configuration(url, state_dir), task_publish_retry=False)
    return app


def _waiting(url: str) -> int:
    with Connection(url) as link:
        return link.SimpleQueue("celery").qsize()
