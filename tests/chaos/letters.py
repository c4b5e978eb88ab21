"""Letters put straight into broker queues, as somebody with access to the broker would."""

from __future__ import annotations

import json
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kombu import Connection

from hands_app.contract.ids import new_id
from hands_app.transports.broker import broker_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON: Final = "application/json"
PICKLE: Final = "application/x-python-serialize"
YAML: Final = "application/x-yaml"
BRAIN: Final = "durable.brain"
HUGE: Final = 20 * 1024 * 1024
_EMBED: Final = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


@dataclass(frozen=True)
class Bomb:
    """Makes a file wherever it is unpickled."""

    path: Path

    def __reduce__(self) -> tuple[Any, ...]:
        """What the reader would call."""
        return (Path.touch, (self.path,))


@dataclass(frozen=True)
class Letter:
    """One message: its body and what its envelope claims."""

    body: bytes | str
    content: str = JSON
    task: str | None = "sessions_app.advance"
    queue: str = BRAIN


def post(redis_url: str, state_dir: Path, letters: Iterator[Letter]) -> int:
    """Put letters into their queues as they are, and give their number."""
    broker = broker_configuration(redis_url, state_dir)
    count = 0
    with Connection(
        broker["broker_url"],
        transport=broker.get("broker_transport"),
        transport_options=broker["broker_transport_options"],
    ) as connection:
        channel = connection.channel()
        for letter in letters:
            queue = connection.SimpleQueue(letter.queue, channel=channel)
            _publish(queue.producer, letter)
            count += 1
    return count


def _publish(producer: Any, letter: Letter) -> None:
    name = str(uuid.uuid4())
    headers = {"id": name, "task": letter.task, "root_id": name, "lang": "py", "argsrepr": "()"}
    given = {} if letter.task is None else {"headers": headers, "correlation_id": name}
    encoding = "utf-8" if isinstance(letter.body, str) else "binary"
    producer.publish(
        letter.body, content_type=letter.content, content_encoding=encoding, retry=False, **given
    )


def call(*args: object, **kwargs: object) -> str:
    """The body of a task message with these arguments."""
    return json.dumps([args, kwargs, _EMBED])


def hostile(bomb: Path) -> Iterator[Letter]:
    """Everything that must be dropped without being run."""
    yield Letter(pickle.dumps(((Bomb(bomb),), {}, {})), PICKLE)
    yield Letter(pickle.dumps(Bomb(bomb)), PICKLE, task=None)
    yield Letter(pickle.dumps(Bomb(bomb)), JSON)
    yield Letter(f"!!python/object/apply:os.mknod ['{bomb}']", YAML)
    yield Letter(call(), task="os.system")
    yield Letter(call("touch", str(bomb)), task="celery.backend_cleanup")
    yield Letter("{", task="sessions_app.scan")
    yield Letter("null")
    yield Letter("[[], {}, 7]")
    yield Letter(call({"exc_type": "system", "exc_module": "os", "exc_message": [f"touch {bomb}"]}))
    yield Letter(call(), task=None)
    for task in ("sessions_app.advance", "sessions_app.scan", "sessions_app.receive"):
        yield Letter(call(1, 2, 3, nonsense=True), task=task)
        yield Letter(call("x" * HUGE) if task.endswith("advance") else call(None), task=task)
    yield Letter(call(new_id("thr_")))
    yield Letter(call("' OR 1=1 --"))
    yield Letter(call('{"kind":"execute"}'), task="hands_app.execute")
    yield from (Letter(call(), task="sessions_app.scan") for _ in range(500))
