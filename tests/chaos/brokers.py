"""Brokers of a test's own, and the ways in which they go away: Redis, RabbitMQ, a folder."""

from __future__ import annotations

import base64
import json
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import redis
from amqp.exceptions import ChannelError
from kombu import Connection, Queue

from durable_site.embedded.servers import start_redis
from tests.legs import vendor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from durable_site.embedded.servers import RedisServer
    from tests.rabbitmq import RabbitNode


@dataclass(frozen=True)
class Message:
    """One message as it lies in the broker."""

    queue: str
    task: str
    arguments: list[Any]
    text: str
    """Headers, properties and the body, decoded."""

    @classmethod
    def read(cls, queue: str, text: str | bytes) -> Message:
        """Read what kombu wrote."""
        envelope = json.loads(text)
        body = base64.b64decode(envelope["body"]).decode()
        arguments = list(json.loads(body)[0])
        return cls(queue, envelope["headers"]["task"], arguments, f"{envelope} {body}")


class Broker(Protocol):
    """What carries hints and commands, until it does not."""

    @property
    def environment(self) -> Mapping[str, str]:
        """How processes find it."""

    def vanish(self) -> None:
        """Go away for good, with all that it held."""

    def come_back(self) -> None:
        """Be there again, empty."""

    def forget(self) -> None:
        """Lose every message and everything else that it held, and go on."""

    def said(self) -> tuple[list[Message], str]:
        """Give what lies there: the messages, and all text of anything else."""


@dataclass
class RedisBroker:
    """A private Redis."""

    server: RedisServer

    @property
    def environment(self) -> Mapping[str, str]:
        """See the protocol."""
        return {"REDIS_URL": self.server.url}

    def client(self) -> redis.Redis:
        """A connection of the test's own."""
        return redis.Redis.from_url(self.server.url, socket_timeout=5)

    def vanish(self) -> None:
        """See the protocol."""
        self.server.halt()

    def come_back(self) -> None:
        """See the protocol."""
        self.server.run()

    def forget(self) -> None:
        """See the protocol."""
        with self.client() as client:
            client.flushall()

    def said(self) -> tuple[list[Message], str]:
        """See the protocol."""
        messages: list[Message] = []
        rest: list[Any] = []
        with self.client() as client:
            for key in client.scan_iter():
                rest.append(key)
                match client.type(key):
                    case b"list":
                        found = client.lrange(key, 0, -1)
                        messages += [Message.read(key.decode(), text) for text in found]
                    case b"set":
                        rest += client.smembers(key)
                    case _:
                        rest.append(client.get(key))
        return messages, repr(rest)


@dataclass
class FolderBroker:
    """Celery's folder broker in the state folder."""

    state_dir: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """See the protocol."""
        return {"REDIS_URL": ""}

    @property
    def folder(self) -> Path:
        """Where messages and bindings lie."""
        return self.state_dir / "broker"

    def vanish(self) -> None:
        """See the protocol."""
        self.folder.rename(self.folder.with_name("broker-away"))
        make_unusable(self.folder)

    def come_back(self) -> None:
        """See the protocol."""
        self.folder.rename(self.folder.with_name("broker-spoilt"))

    def forget(self) -> None:
        """See the protocol."""
        for path in (self.folder / "messages").iterdir():
            path.unlink(missing_ok=True)

    def said(self) -> tuple[list[Message], str]:
        """See the protocol."""
        files = list((self.folder / "messages").iterdir())
        messages = [Message.read(_queue_of(path), path.read_text()) for path in files]
        return messages, repr([path.read_text() for path in (self.folder / "control").iterdir()])


@dataclass
class RabbitBroker:
    """A private RabbitMQ, of which these queues are known."""

    node: RabbitNode
    queues: Collection[str]

    @property
    def environment(self) -> Mapping[str, str]:
        """See the protocol."""
        return {"REDIS_URL": "", "RABBITMQ_URL": self.node.url}

    def vanish(self) -> None:
        """See the protocol."""
        self.node.halt()

    def come_back(self) -> None:
        """See the protocol."""
        self.node.run()

    def forget(self) -> None:
        """See the protocol."""
        with Connection(self.node.url) as link:
            for queue in self.queues:
                with suppress(ChannelError):  # one that nobody has declared yet is empty
                    Queue(queue, channel=link.channel()).purge()

    def said(self) -> tuple[list[Message], str]:
        """What lies there is not looked at."""
        return [], ""


def _queue_of(path: Path) -> str:
    return path.name.partition(".")[2].removesuffix(".msg")


@dataclass
class AbsentRedis:
    """An address at which nobody listens."""

    port: int

    @classmethod
    def find(cls) -> AbsentRedis:
        """Take a port that was free just now."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            return cls(server.getsockname()[1])

    @property
    def environment(self) -> Mapping[str, str]:
        """See the protocol."""
        return {"REDIS_URL": f"redis://127.0.0.1:{self.port}/0"}

    def vanish(self) -> None:
        """It was never there."""

    def come_back(self) -> None:
        """It never does."""

    def forget(self) -> None:
        """It knows nothing."""

    def said(self) -> tuple[list[Message], str]:
        """It heard nothing."""
        return [], ""


@dataclass
class UnusableFolder(FolderBroker):
    """A broker folder in which nobody, not even root, can make or open a file."""

    def __post_init__(self) -> None:
        """Spoil it before anybody uses it."""
        make_unusable(self.folder)


def make_unusable(folder: Path) -> None:
    """Let both parts of a new broker folder lead into the kernel's own, where no file is made."""
    folder.mkdir(mode=0o700)
    for part in ("messages", "control"):
        (folder / part).symlink_to("/proc")


def absent_of_leg(state_dir: Path) -> Broker:
    """The same, away from the beginning."""
    return UnusableFolder(state_dir) if vendor() == "sqlite" else AbsentRedis.find()


@contextmanager
def of_leg(state_dir: Path) -> Iterator[Broker]:
    """Give the one that goes with the leg's database: a folder with SQLite, else Redis."""
    if vendor() == "sqlite":
        yield FolderBroker(state_dir)
        return
    with start_redis() as server:
        yield RedisBroker(server)
