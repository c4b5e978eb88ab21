"""A sidecar on a port of its own in the test's process, and peers that misbehave on purpose."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from hands_app.transports.sidecar import Sidecar
from tests.integration.hands.examples import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hands_app.host import Host

TOKEN = "a-token-of-a-test-0123456789"


@contextmanager
def sidecar(host: Host, token: str = TOKEN) -> Iterator[str]:
    """Serve a host over HTTP for the length of a block and give its address."""
    app = Sidecar(host, host.shelf, token)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        until(lambda: server.started, "the server")
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
        app.close()


@contextmanager
def peer(behave: Callable[[socket.socket, bytes], None]) -> Iterator[tuple[str, list[bytes]]]:
    """Serve connections by `behave`, which gets what was asked; give address and requests."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    asked.append(_request(connection))
                    try:
                        behave(connection, asked[-1])
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _request(connection: socket.socket) -> bytes:
    """Read one whole request, as far as its sender sends it."""
    text = b""
    while chunk := connection.recv(65536):
        text += chunk
        head, end, body = text.partition(b"\r\n\r\n")
        sizes = re.findall(rb"(?i)content-length: (\d+)", head)
        if end and len(body) >= int(sizes[0] if sizes else 0):
            break
    return text


def says(status: str, body: bytes = b"{}", *headers: str) -> Callable[..., None]:
    """Make a peer that answers everything so."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    return behave
