"""A way to a site that loses answers: what was asked has been done, and nobody hears of it."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

_CHUNK = 64 * 1024


class CuttingProxy:
    """Carries bytes; each part of an answer is lost, with its connection, by this chance."""

    def __init__(self, address: str, chance: float, seed: int = 4711) -> None:
        """Listen on a port of its own."""
        there = urlsplit(address)
        self._server = (there.hostname or "", there.port or 80)
        self._chance = chance
        self._random = random.Random(seed)  # noqa: S311 - the same losses in each run
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take nobody in any more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                for source, target, loses in ((client, server, False), (server, client, True)):
                    threading.Thread(
                        target=self._carry, args=(source, target, loses), daemon=True
                    ).start()

    def _carry(self, source: socket.socket, target: socket.socket, loses: bool) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if loses and self._random.random() < self._chance:
                    self.lost += 1
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
