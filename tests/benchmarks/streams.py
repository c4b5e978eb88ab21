"""W8: idle event streams of one web process, and how soon an event reaches the one that waits."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import psutil
from django.db import connection, connections

from sessions_app.contract import wire
from sessions_app.contract.events import EventView
from sessions_app.contract.frames import FrameKind, FrameReader
from sessions_app.contract.grants import Role, TokenDraft
from sessions_app.store import tokens
from tests.benchmarks.workloads import QUICK, percentiles

if TYPE_CHECKING:
    from asyncio import StreamReader

    from sessions_app.runtime import SessionHandle
    from tests.benchmarks.durable import Durable
    from tests.benchmarks.workloads import Figures, Sizes

_STREAMS: Final = 1000
_STREAMS_QUICK: Final = 20
_AT_ONCE: Final = 25
_PACE: Final = 0.01
_PATIENCE: Final = 60.0
_CONNECTIONS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
"""


@dataclass
class Reader:
    """One stream's client: raw HTTP, so that it costs the machine little."""

    address: str
    secret: str
    session_id: str
    heard: dict[int, float] = field(default_factory=dict)
    """Seconds from each event's own time to its arrival, by sequence."""

    ready: asyncio.Event = field(default_factory=asyncio.Event)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def grows(self, beyond: int) -> None:
        """Wait until more than so many events were heard."""
        while len(self.heard) <= beyond:
            self._more.clear()
            await self._more.wait()

    async def follow(self, opened: asyncio.Semaphore) -> None:
        """Connect, replay what there is, then note each event; ends with its task."""
        place = urlsplit(self.address)
        async with opened:
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            path = f"/api/v1/namespaces/bench/sessions/{self.session_id}/events/stream"
            writer.write(
                f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
                f"Authorization: Bearer {self.secret}\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
        self.ready.set()
        try:
            await self._listen(reader)
        finally:
            writer.close()

    async def _listen(self, reader: StreamReader) -> None:
        frames = FrameReader()
        while size := int(await reader.readline(), 16):  # one chunk after the other
            body = await reader.readexactly(size + 2)
            now = time.time()
            for frame in frames.feed(body[:-2]):
                if frame.kind is FrameKind.DURABLE:
                    event = wire.parse(EventView, frame.data)
                    self.heard[event.sequence] = now - event.at.timestamp()
            self._more.set()


def streams(engine: Durable, sizes: Sizes) -> Figures:
    """W8: 1,000 streams that wait; from an event's own time to its client, and what one costs."""
    count = _STREAMS if sizes.turns > QUICK.turns else _STREAMS_QUICK
    engine.open()
    engine.prepare(count)
    secret = tokens.create(TokenDraft("bench", frozenset({Role.OPERATOR}), "bench")).secret
    address, web = _serve(engine, count)
    before, empty = _connections(), _memory(web)
    readers = [Reader(address, secret, each.key.session_id) for each in engine.sessions]
    latencies, full, held = asyncio.run(_measure(engine, readers, sizes.latencies, web))
    return {
        **{f"event {name}": value for name, value in percentiles(latencies).items()},
        "KiB/stream": (full - empty) / 1024 / count,
        "connections": float(held - before),
    }


async def _measure(
    engine: Durable, readers: list[Reader], events: int, web: int
) -> tuple[list[float], int, int]:
    """Open all, submit to some one after the other; gives latencies, memory and connections."""
    opened = asyncio.Semaphore(_AT_ONCE)
    following = [asyncio.create_task(each.follow(opened)) for each in readers]
    for each in readers:
        await asyncio.wait_for(each.ready.wait(), _PATIENCE)
    full, held = _memory(web), await asyncio.to_thread(_connections)
    latencies = []
    for number in range(events):
        reader, session = readers[number * 7 % len(readers)], engine.sessions
        before = len(reader.heard)
        await asyncio.to_thread(_submit, session[number * 7 % len(readers)], number)
        await asyncio.wait_for(reader.grows(before), _PATIENCE)
        latencies.append(list(reader.heard.values())[before])
        await asyncio.sleep(_PACE)
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    return latencies, full, held


def _submit(session: SessionHandle, number: int) -> None:
    try:
        session.submit(f"event-{number}", "turn k")
    finally:
        connections.close_all()


def _serve(engine: Durable, streams: int) -> tuple[str, int]:
    """Start the web role's command; gives its address once it listens, and its process id."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    wanted = {"PORT": str(port), "DURABLE_STREAMS_EACH": str(streams), "DURABLE_API_RATE": "none"}
    os.environ.update(wanted)  # of this driver, which is one process for one workload
    process = engine.run_role("web")
    deadline = time.monotonic() + _PATIENCE
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return f"http://127.0.0.1:{port}", process
        assert time.monotonic() < deadline, "the web process does not listen; see workers.log"
        time.sleep(_PACE)  # nothing signals that another process listens


def _memory(process: int) -> int:
    """Resident bytes of a process and what it started."""
    root = psutil.Process(process)
    return sum(each.memory_info().rss for each in (root, *root.children(recursive=True)))


def _connections() -> int:
    try:
        with connection.cursor() as cursor:
            cursor.execute(_CONNECTIONS)
            (count,) = cursor.fetchone() or (0,)
            return int(count)
    finally:
        connections.close_all()
