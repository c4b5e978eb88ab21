"""An HTTP server on loopback that counts model requests and can hold one in mid-answer.

Holding is the demo's and the tests' way to kill a process at a known place: the server says when
the request is there, and sees when its caller is gone.
"""

import json
import select
import socket
import threading
from abc import abstractmethod
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from durable_site.demo.journal import End, Journal, Record
from durable_site.demo.wire import Json

LOOPBACK = "127.0.0.1"

_LOOK_FOR_SHUTDOWN = 0.05


class ModelServer(ThreadingHTTPServer):
    """The server, in threads of the calling process, between entry and exit."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(
        self,
        handler: "type[ModelHandler]",
        journal: Path | None = None,
        *,
        hold: int | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        """Listen on a free port, or on a given socket.

        Request number `hold` is held open until its caller goes away or `release` is called.
        """
        super().__init__((LOOPBACK, 0), handler, bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = listening
            self.server_address = listening.getsockname()
        self.journal = Journal(journal)
        self.hold = hold
        self.held = threading.Event()
        self._released, self._release = socket.socketpair()
        self._thread = threading.Thread(
            target=self.serve_forever, args=[_LOOK_FOR_SHUTDOWN], name="model", daemon=True
        )

    @property
    def address(self) -> str:
        """The URL of the server, without a path."""
        return f"http://{LOOPBACK}:{self.server_address[1]}"

    def release(self) -> None:
        """Let the held request go on."""
        self._release.close()

    def wait_while_held(self, record: Record, caller: socket.socket) -> None:
        """Say that the request is held; return when released, raise when its caller is gone."""
        self.journal.held(record)
        self.held.set()
        ready, _, _ = select.select([caller, self._released], [], [])
        if self._released not in ready:
            raise ConnectionResetError

    def handle_error(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        """Stay silent: a caller that goes away is this server's daily bread."""

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """Stop serving and close every socket."""
        self.shutdown()
        self._thread.join()
        self.release()
        self._released.close()
        self.server_close()
        self.journal.close()


class ModelHandler(BaseHTTPRequestHandler):
    """One connection with one request: the answer closes it."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_GET(self) -> None:
        """Answer a GET; none is counted."""
        self.get()

    def do_POST(self) -> None:
        """Answer a POST."""
        self.post(self.read_body())

    def get(self) -> None:
        """Answer a GET: there is nothing to get, unless a subclass knows better."""
        self.answer(HTTPStatus.NOT_FOUND, {})

    @abstractmethod
    def post(self, body: bytes) -> None:
        """Answer a POST, usually by `answer_counted`."""

    @abstractmethod
    def respond(self, record: Record, body: bytes) -> End:
        """Answer a counted request and say how it ended."""

    def answer_counted(self, body: bytes) -> None:
        """Count the request and answer it."""
        record = self.server.journal.arrived(_parsed(body))
        try:
            end = self.respond(record, body)
        except (OSError, ValueError):  # the caller, or the server itself, went away
            end = End.LOST
        self.server.journal.ended(record, end)

    def hold_if_asked(self, record: Record) -> None:
        """Wait here if this is the request to hold."""
        if record.number == self.server.hold:
            self.server.wait_while_held(record, self.connection)

    def read_body(self) -> bytes:
        """Return the request's body."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status: HTTPStatus, body: Json) -> None:
        """Send a whole answer in JSON."""
        content = json.dumps(body).encode()
        self.head(
            status, ("Content-Type", "application/json"), ("Content-Length", str(len(content)))
        )
        self.wfile.write(content)

    def begin_stream(self, status: int, kind: str) -> None:
        """Begin an answer of unknown length; `send` its pieces and then an empty one."""
        self.head(status, ("Content-Type", kind), ("Transfer-Encoding", "chunked"))

    def send(self, data: bytes) -> None:
        """Send one piece of a stream."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def head(self, status: int, *headers: tuple[str, str]) -> None:
        """Send the head of an answer."""
        self.send_response(status)
        for name, value in (*headers, ("Connection", "close")):
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        """Write nothing: the journal says more."""


def _parsed(body: bytes) -> Json:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
