"""Celery's `filesystem://` broker, made safe for several processes at once.

The original writes a message in place and a reader may take the empty file: the message is lost
and the reader's worker stops with an error. Here a message appears whole, is taken by exactly one
reader, and a file that somebody still writes is left for the next look.
"""

import fcntl
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty
from tempfile import TemporaryFile
from typing import IO, Any

from kombu import Connection
from kombu.transport import filesystem
from kombu.transport.virtual import BrokerState
from kombu.utils.json import dumps, loads

_LOOK_SECONDS = 0.1

Binding = filesystem.exchange_queue_t


class Channel(filesystem.Channel):
    """Queues of files in one folder; the bindings of each exchange in a file of another."""

    def get_table(self, exchange: str) -> list[Any]:
        """Return the bindings of an exchange."""
        try:
            with _locked(self._table_file(exchange), "r", fcntl.LOCK_SH) as file:
                return _bindings(file)
        except FileNotFoundError:
            return []

    def _queue_bind(
        self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None
    ) -> None:
        binding = Binding(routing_key or "", pattern or "", queue or "")
        self._change(exchange, lambda found: found if binding in found else [binding, *found])

    def _delete(
        self, queue: str, exchange: str, routing_key: str, pattern: str, *_: object, **__: object
    ) -> None:
        self._purge(queue)
        binding = Binding(routing_key or "", pattern or "", queue or "")
        self._change(exchange, lambda found: [each for each in found if each != binding])

    def _change(self, exchange: str, change: Callable[[list[Any]], list[Any]]) -> None:
        with _locked(self._table_file(exchange), "a+", fcntl.LOCK_EX) as file:
            file.seek(0)
            bindings = change(_bindings(file))
            file.truncate(0)
            file.write(dumps(bindings))

    def _table_file(self, exchange: str) -> Path:
        return Path(self.control_folder, f"{exchange}.exchange")

    def _put(  # type: ignore[override]  # the original's parents disagree on the name
        self, queue: str, payload: dict[str, Any], **_: object
    ) -> None:
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns():020d}_{uuid.uuid4()}"
        unfinished = folder / f".{name}"
        unfinished.write_text(dumps(payload))
        unfinished.rename(folder / f"{name}.{queue}.msg")

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:  # noqa: ARG002 - the transport polls
        for path in self._waiting(queue):
            text = _taken(path)
            if text is not None:
                message: dict[str, Any] = loads(text)
                return message
        raise Empty

    def _purge(self, queue: str) -> int:
        return sum(_taken(path) is not None for path in self._waiting(queue))

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _waiting(self, queue: str) -> list[Path]:
        """Return the queue's files, the oldest first."""
        folder, ending = self.data_folder_in, f"{queue}.msg"
        names = [name for name in os.listdir(folder) if name.partition(".")[2] == ending]  # noqa: PTH208 - names alone
        return [Path(folder, name) for name in sorted(names)]


class Transport(filesystem.Transport):
    """The folder broker; name it as `broker_transport` beside the URL `filesystem://`."""

    Channel = Channel
    # What goes wrong with the folder is a lost connection: a worker tries again and lives on.
    connection_errors = (*filesystem.Transport.connection_errors, OSError)

    def __init__(self, client: Connection, **options: Any) -> None:  # noqa: ANN401 - kombu's own
        super().__init__(client, **options)
        self._options: dict[str, Any] = client.transport_options or {}
        self.state = BrokerState()  # the original's is shared by connections to different folders

    @property
    def default_connection_params(self) -> dict[str, Any]:
        """None: a folder has no host, and the lack of one is nothing to warn of."""
        return {}

    def establish_connection(self) -> Any:  # noqa: ANN401 - kombu's own
        """Make missing folders; raises OSError while no file can be made in one of them."""
        for name in ("data_folder_in", "data_folder_out", "control_folder"):
            folder = Path(self._options[name])
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        return super().establish_connection()

    def drain_events(
        self,
        connection: Any,  # noqa: ANN401 - kombu's own
        timeout: float | None = None,
        **_: object,
    ) -> None:
        """Deliver a message, or raise TimeoutError after `timeout` seconds without one.

        A worker that was told to stop gets no more messages, and is not kept waiting.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not _worker_is_stopping():
            rest = _LOOK_SECONDS if deadline is None else deadline - time.monotonic()
            with suppress(TimeoutError):
                return super().drain_events(connection, timeout=min(max(rest, 0), _LOOK_SECONDS))
            if rest <= 0:
                break
        raise TimeoutError


def _worker_is_stopping() -> bool:
    state = sys.modules.get("celery.worker.state")  # there only if this process is a worker
    return state is not None and (state.should_stop, state.should_terminate) != (None, None)


@contextmanager
def _locked(path: Path, mode: str, lock: int) -> Iterator[IO[str]]:
    with path.open(mode) as file:
        fcntl.flock(file, lock)  # closing gives it back
        yield file


def _bindings(file: IO[str]) -> list[Any]:
    text = file.read()
    return [Binding(*each) for each in loads(text)] if text else []


def _taken(path: Path) -> str | None:
    """Take a message out of the folder; none when another was faster or it is being written."""
    with suppress(FileNotFoundError, BlockingIOError):
        with _locked(path, "r", fcntl.LOCK_SH | fcntl.LOCK_NB) as file:
            text = file.read()
        if text:
            path.unlink()
            return text
    return None
