"""A TCP way to PostgreSQL that can be cut between a COMMIT and its answer (C29)."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHUNK = 64 * 1024
_PORT = 5432


@dataclass
class Proxy:
    """Carries bytes both ways; `losses` is how many COMMITs lose their answer from now on."""

    server: Mapping[str, str]  # HOST and PORT, as Django has them
    losses: int = 0
    lost: int = 0
    _listener: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        """Listen on a port of its own."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where clients come in."""
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        """Take nobody in any more."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                _Line(self, client, self._connect()).start()

    def _connect(self) -> socket.socket:
        host, port = self.server["HOST"], int(self.server["PORT"] or _PORT)
        if not host.startswith("/"):
            return socket.create_connection((host or "127.0.0.1", port))
        way = socket.socket(socket.AF_UNIX)
        way.connect(f"{host}/.s.PGSQL.{port}")
        return way

    def takes(self) -> bool:
        """Whether the answer to this COMMIT gets lost."""
        if self.lost >= self.losses:
            return False
        self.lost += 1
        return True


@dataclass
class _Line:
    """One connection through the proxy."""

    proxy: Proxy
    client: socket.socket
    server: socket.socket
    cut: bool = False

    def start(self) -> None:
        for carry in (self._out, self._back):
            threading.Thread(target=carry, daemon=True).start()

    def _out(self) -> None:
        for data in _read(self.client):
            if b"COMMIT" in data:
                self.cut = self.proxy.takes()
            self.server.sendall(data)
        self._close()

    def _back(self) -> None:
        """Carry answers; the one to a cut COMMIT says that it is done, and is dropped."""
        for data in _read(self.server):
            if self.cut:
                break
            self.client.sendall(data)
        self._close()

    def _close(self) -> None:
        for way in (self.client, self.server):
            with suppress(OSError):
                way.shutdown(socket.SHUT_RDWR)


def _read(way: socket.socket) -> Iterator[bytes]:
    """Give what comes in until the other side is gone."""
    with closing(way), suppress(OSError):
        while data := way.recv(_CHUNK):
            yield data
