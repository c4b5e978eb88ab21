"""The Executor port over HTTP: a sidecar gets commands and is asked for updates (R174).

Only this side opens connections. An answer that does not come, or is not the one that the protocol
knows, confirms nothing: the outbox sends again and the ledger of the sidecar recognises it. No
redirect is followed, and nobody but the address of the settings ever sees the token.
"""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from hands_app.contract.errors import Incompatible, InvalidJson, Rejected
from hands_app.contract.messages import parse_update
from hands_app.contract.strict_json import Limits, canonical, loads
from sessions_app.brain.failure import trace
from sessions_app.contract.errors import Unavailable
from sessions_app.ports import ExecutorCapabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hands_app.contract.strict_json import JsonValue

log = logging.getLogger(__name__)

SEND_SECONDS: Final = 2.0
WAIT_SECONDS: Final = 20
_SLACK_SECONDS: Final = 5.0
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0
_SMALL: Final = Limits(bytes=64 * 1024)
_LARGE: Final = Limits(bytes=12 * 1024 * 1024)
"""Four MiB of envelopes, each written as a string."""
_UNTAKEN: Final = "unreadable"
_TAKEN: Final[JsonValue] = {"taken": True}


class Unconfirmed(Exception):
    """No answer, or none that the protocol knows."""


class HttpExecutor:
    """Implements `ports.OwnExecutor`: one sidecar, one thread that fetches its updates."""

    capabilities = ExecutorCapabilities(query=True, cancel=True, output=True)

    def __init__(self, url: str, token: str, *, send_seconds: float = SEND_SECONDS) -> None:
        """Nothing runs before `start`. Raises Incompatible for no http(s) address."""
        self._door = Door(url, token)
        self._send_seconds = send_seconds
        self._receive: Callable[[str], str] | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="http-updates", daemon=True)
        self.failures = 0

    def send(self, _route: str, envelope: str, *, control: bool = False) -> bool:
        """See the port; True only once the sidecar says that it is durable."""
        path = "/v1/controls" if control else "/v1/commands"
        try:
            answer = self._door.ask("POST", path, envelope.encode(), self._send_seconds, _SMALL)
        except Unconfirmed as error:
            log.warning("a command was not confirmed: %s", error)
            return False
        return answer == _TAKEN

    def bind(self, receive: Callable[[str], str]) -> None:
        """See the port."""
        self._receive = receive

    def start(self) -> None:
        """See the port; a sidecar that is away is asked again."""
        self._thread.start()

    def drain(self) -> None:
        """See the port: updates are fetched to the end."""

    def close(self) -> None:
        """See the port; a question under way is cut off."""
        self._closed.set()
        self._door.slam()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closed.is_set():
            try:
                self.fetch()
            except (Unconfirmed, Unavailable) as error:
                self.failures += 1
                if not self._closed.is_set():
                    log.info("updates are fetched again in %g s: %s", pause, error)
                self._closed.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except Exception as error:  # noqa: BLE001 # outermost: of the thread
                log.error("fetching updates failed: %s", trace(error))  # noqa: TRY400 - law 10
                self._closed.wait(_LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE

    def fetch(self, wait: int = WAIT_SECONDS) -> int:
        """Fetch updates once, have them taken in, acknowledge those; return how many.

        Raises:
            Unconfirmed: the sidecar did not answer as it should.
            Unavailable: one could not be taken in; it and what follows come again.
        """
        path = f"/v1/updates?wait={wait}"
        answer = self._door.ask("GET", path, None, wait + _SLACK_SECONDS, _LARGE)
        taken: list[JsonValue] = []
        try:
            for envelope in _envelopes(answer):
                self._take(envelope, taken)
        finally:
            if taken:
                body = canonical({"events": taken})
                self._door.ask("POST", "/v1/acknowledged", body, self._send_seconds, _SMALL)
        return len(taken)

    def _take(self, envelope: str, taken: list[JsonValue]) -> None:
        """What cannot be read is not acknowledged (R192)."""
        if self._receive is None:
            message = "nobody takes updates in yet"
            raise Unconfirmed(message)
        if self._receive(envelope) == _UNTAKEN:
            return
        try:
            taken.append(parse_update(envelope).event_id)
        except Rejected:
            log.warning("an update that was taken in cannot be acknowledged")


class Door:
    """Asks one address, each question on a connection of its own, within its time."""

    def __init__(self, url: str, token: str) -> None:
        """Raises Incompatible for no http(s) address."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
            message = f"{parts.scheme}://{parts.hostname} is no address of a sidecar"
            raise Incompatible(message)
        self._make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._open: set[socket.socket] = set()
        self._slammed = False

    def ask(
        self, method: str, path: str, body: bytes | None, seconds: float, limits: Limits
    ) -> JsonValue:
        """Return the document of a 2xx answer; raise Unconfirmed for everything else."""
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        try:
            with self._connection(seconds) as connection:
                connection.request(method, self._path + path, body, headers)
                with closing(connection.getresponse()) as answer:
                    text = answer.read(limits.bytes + 1)
        except (OSError, HTTPException, ValueError) as error:
            raise Unconfirmed(type(error).__name__) from error
        if answer.status not in {200, 202}:
            message = f"status {answer.status}"
            raise Unconfirmed(message)
        try:
            return loads(text, limits=limits)
        except InvalidJson as error:
            message = f"no strict JSON: {error.reason}"
            raise Unconfirmed(message) from error

    def slam(self) -> None:
        """Cut off every question under way, and refuse others."""
        self._slammed = True
        for opened in list(self._open):
            _cut(opened)

    @contextmanager
    def _connection(self, seconds: float) -> Iterator[HTTPConnection]:
        """Give a connection that is cut when its time is up, however slowly its peer may drip."""
        if self._slammed:
            raise OSError
        connection = self._make(self._host, self._port, timeout=seconds)
        connection.connect()
        opened: socket.socket = connection.sock
        timer = threading.Timer(seconds, _cut, [opened])
        timer.daemon = True
        self._open.add(opened)
        timer.start()
        try:
            yield connection
        finally:
            timer.cancel()
            self._open.discard(opened)
            connection.close()


def _cut(opened: socket.socket) -> None:
    """End a connection for whoever reads from it; one that is closed already stays so."""
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)


def _envelopes(answer: JsonValue) -> list[str]:
    found = answer.get("updates") if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        message = "no list of updates"
        raise Unconfirmed(message)
    return [each for each in found if isinstance(each, str)]
