"""The event stream over real HTTP: replay, then follow; cursors, filters, ends, and seats."""

from __future__ import annotations

import json
import random
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx2 as httpx
import pytest

from sessions_app.client import RemoteRuntime
from sessions_app.contract import wire
from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.events import EventFilter, EventView
from sessions_app.contract.frames import Frame, FrameKind, FrameReader
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.observing import SnapshotReset
from sessions_app.contract.projection import EventProjection
from sessions_app.contract.snapshot import Snapshot
from tests.covers import covers, poses
from tests.web.api.serving import serve

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tests.sites import Site

pytestmark = pytest.mark.timeout(180)
KEY = SessionKey("acme", "chat")
SESSION = "/api/v1/namespaces/acme/sessions/chat"
CUTS = 50
UNKNOWN = "turn_01m8qdmbrdfe2agwscnc9rwtar"


@dataclass
class Live:
    """A served site with one Session, and a program that may all in it."""

    site: Site
    address: str
    secret: str
    client: httpx.Client
    sent: int = field(default=0)

    def submit(self, text: str = "hello") -> str:
        """Submit a Turn and return its id."""
        self.sent += 1
        body = {"requestId": f"r-{self.sent}", "input": text}
        answer = self.client.post(f"{SESSION}/threads/main/turns", json=body)
        answer.raise_for_status()
        return str(answer.json()["turnId"])

    def snapshot(self, **within: str) -> Snapshot:
        """Take a snapshot."""
        return wire.parse(Snapshot, self.client.get(f"{SESSION}/snapshot", params=within).json())

    def frames(self, count: int, after: str | None = None, **query: str) -> list[Frame]:
        """Read so many frames of a stream, then leave it."""
        with closing(self.stream(after, **query)) as stream:
            return [next(stream) for _ in range(count)]

    def stream(self, after: str | None = None, **query: str) -> Generator[Frame]:
        """Follow a stream."""
        reader = FrameReader()
        headers = {"Last-Event-ID": after} if after else {}
        place = f"{SESSION}/events/stream"
        with self.client.stream("GET", place, params=query, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            for more in answer.iter_raw():
                yield from reader.feed(more)


@pytest.fixture
def live(fresh_site: Site) -> Iterator[Live]:
    """Give a served site with an empty Session."""
    made = fresh_site.manage(
        *("durable", "token", "create", "tests", "--role", "operator", "--namespace", "acme")
    )
    secret = made.strip().splitlines()[-1]
    address = serve(fresh_site, DURABLE_STREAMS_EACH="3", DURABLE_API_RATE="none")
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=address, headers=headers, timeout=20) as client:
        body = {"sessionId": "chat", "agent": "night-report"}
        client.post("/api/v1/namespaces/acme/sessions", json=body).raise_for_status()
        yield Live(fresh_site, address, secret, client)


def event_of(frame: Frame) -> EventView:
    """The event that a durable frame carries."""
    return wire.parse(EventView, frame.data)


@covers("R124", "R125")
def test_a_stream_replays_and_then_follows(live: Live) -> None:
    """What was there comes first, then what comes, each once, in order, with its cursor."""
    live.submit()
    begun = live.snapshot().last_sequence
    stream = live.stream()

    replayed = [next(stream) for _ in range(begun)]
    live.submit("more, with ümläuts and 猫")
    grown = live.snapshot().last_sequence
    followed = [next(stream) for _ in range(grown - begun)]
    stream.close()

    events = [event_of(each) for each in replayed + followed]
    assert [each.sequence for each in events] == list(range(1, grown + 1))
    assert [each.cursor for each in events] == [each.id for each in replayed + followed]
    projection = EventProjection.of(KEY)
    for event in events:
        projection.accept(event)
    assert projection.snapshot() == live.snapshot()


@covers("R124")
def test_last_event_id_goes_before_the_parameter(live: Live) -> None:
    """R124: a browser that comes again says where it was, whatever its address says."""
    live.submit()
    first, second, third = live.frames(3)

    assert live.frames(1, first.id, cursor=third.id or "") == [second]
    assert live.frames(1, cursor=second.id or "") == [third]


@covers("R125")
@poses("T14")
def test_a_filtered_stream_moves_its_cursor_over_what_it_leaves_out(live: Live) -> None:
    """R125: a Turn's stream has a `cursor` frame where others' events were; foreign ids are 404."""
    first, second = live.submit(), live.submit()

    everything = [event_of(each) for each in live.frames(live.snapshot().last_sequence)]
    mine = [each for each in everything if each.turn_id == first]
    *shown, moved = live.frames(len(mine) + 1, turnId=first)

    assert [event_of(each) for each in shown] == mine
    assert (moved.kind, moved.id) == (FrameKind.CURSOR, everything[-1].cursor)
    assert moved.data == {"cursor": moved.id}
    assert second not in json.dumps([each.data for each in shown])
    projection = EventProjection.of(KEY, EventFilter("main", first))
    _fold(projection, shown)
    assert projection.snapshot().turns == live.snapshot(turnId=first).turns
    missing = live.client.get(f"{SESSION}/events/stream", params={"turnId": UNKNOWN})
    assert missing.status_code == 404


@covers("R126")
@poses("C62")
def test_a_cursor_that_expired_is_gone_at_connect_and_resync_later(live: Live) -> None:
    """R126: 410 before the body; in the stream a `resync` frame, and the end."""
    live.submit()
    old = live.frames(1)[0].id
    stream = live.stream()
    for _ in range(live.snapshot().last_sequence):
        next(stream)

    live.site.run("-c", _RESTORED)
    last = [each.kind for each in stream]

    assert last == [FrameKind.RESYNC]
    gone = live.client.get(f"{SESSION}/events/stream", headers={"Last-Event-ID": old or ""})
    assert (gone.status_code, gone.json()["code"]) == (410, CursorExpired.code)
    with RemoteRuntime.at(live.address, live.secret) as runtime:
        reset = next(runtime.session("acme", "chat").stream_events(old))
    assert reset == SnapshotReset(live.snapshot())


_RESTORED = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "durable_site.settings"
django.setup()
from sessions_app.models import Session, StoreState
from django.db.models import F
StoreState.objects.update(incarnation="inc_restored")
Session.objects.update(last_sequence=F("last_sequence") + 1)
"""


@poses("T1", "T7", "T10")
def test_what_is_refused_is_refused_before_the_body(live: Live) -> None:
    """No token, another tenant, a bad cursor, an unknown parameter, too many streams."""
    place = f"{SESSION}/events/stream"
    assert httpx.get(f"{live.address}{place}").status_code == 401
    assert live.client.get(place.replace("/acme/", "/other/")).status_code == 404
    assert live.client.get(f"{place}?cursor=nonsense").status_code == 400
    assert live.client.get(f"{place}?preview=all").status_code == 400
    assert live.client.post(place).status_code == 405

    open_ones = [live.stream() for _ in range(3)]
    for each in open_ones:
        next(each)
    full = live.client.get(place)
    assert (full.status_code, full.json()["code"]) == (429, "RATE_LIMITED")
    assert int(full.headers["Retry-After"]) > 0
    for each in open_ones:
        each.close()
    assert live.frames(1)  # whoever left has given the seat back


@covers("R126", "R127")
@poses("C58", "C59", "C61", "T13")
def test_a_stream_that_is_cut_anywhere_loses_nothing(live: Live) -> None:
    """50 places, by close and by reset: gone on from the last whole frame, the view is the same."""
    for number in range(12):
        live.submit(f"number {number}: ümläut, 猫, \u2028 and \r\n")
    truth = live.snapshot()
    whole = _recorded(live, truth.last_sequence)
    chance = random.Random(4711)  # noqa: S311 - places to cut at, the same in each run

    for number in range(CUTS):
        cut = chance.randrange(1, len(whole))
        projection = EventProjection.of(KEY)
        _fold(projection, _read_some(live, cut, reset=number % 2 == 0))
        while projection.sequence < truth.last_sequence:
            _fold(
                projection,
                live.frames(truth.last_sequence - projection.sequence, projection.cursor),
            )
        assert projection.snapshot() == truth, cut


@covers("R125")
@poses("C61")
def test_a_recorded_stream_cut_after_every_byte_folds_to_a_prefix(live: Live) -> None:
    """Whatever part of it came, the cursor names exactly what was folded in."""
    live.submit("ümläut 猫")
    truth = live.snapshot()
    whole = _recorded(live, truth.last_sequence)
    live_frame = b'event: live\ndata: {"preview":"x"}\n\n'
    middle = whole.index(b"event: durable", 40)
    whole = whole[:middle] + live_frame + whole[middle:]
    rest = [event_of(each) for each in FrameReader().feed(whole) if each.kind is FrameKind.DURABLE]

    for cut in range(len(whole)):
        projection = EventProjection.of(KEY)
        _fold(projection, FrameReader().feed(whole[:cut]))
        for event in rest[projection.sequence :]:
            projection.accept(event)
        assert projection.snapshot() == truth, cut


def _recorded(live: Live, count: int) -> bytes:
    """The bytes of a stream until so many events have come."""
    text, reader, found = b"", FrameReader(), 0
    with live.client.stream("GET", f"{SESSION}/events/stream") as answer:
        for more in answer.iter_raw():
            text += more
            found += len(reader.feed(more))
            if found >= count:
                break
    return text


def _fold(projection: EventProjection, frames: list[Frame]) -> None:
    for each in frames:
        if each.kind is FrameKind.DURABLE:
            projection.accept(event_of(each))


def _read_some(live: Live, count: int, *, reset: bool) -> list[Frame]:
    """Read so many bytes of a stream's body from a raw socket, then close or reset it."""
    host, port = live.address.removeprefix("http://").split(":")
    request = (
        f"GET {SESSION}/events/stream HTTP/1.0\r\nHost: {host}\r\n"
        f"Authorization: Bearer {live.secret}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=20) as link:
        if reset:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.sendall(request.encode())
        text = b""
        while b"\r\n\r\n" not in text:
            text += link.recv(1)
        body = b""
        while len(body) < count and (more := link.recv(count - len(body))):
            body += more
    return FrameReader().feed(body)


@pytest.mark.postgresql
@poses("C18", "C59")
def test_many_streams_share_few_connections(live: Live) -> None:
    """Opened at once none is turned away, those that wait hold nothing, cut requests leak nothing.

    C18 with 40 streams and 90 requests, a third of them reset before their answer, instead of 300
    streams and a minute.
    """
    few = {"DURABLE_WEB_CONNECTIONS": "4", "DURABLE_STREAMS_EACH": "100"}
    live.site.kill(live.site.processes[-1])
    address = serve(live.site, DURABLE_API_RATE="none", **few)
    client = httpx.Client(base_url=address, headers=live.client.headers, timeout=30)
    with client, ThreadPoolExecutor(40) as threads:
        live.client = client
        streams = [live.stream() for _ in range(40)]
        assert {frame.kind for frame in threads.map(next, streams)} == {FrameKind.DURABLE}
        left = live.snapshot().last_sequence - 1
        for each in streams:
            for _ in range(left):
                next(each)
        live.submit()
        for each in streams:
            next(each)
        done = list(threads.map(lambda n: _ask(live, reset=n % 3 == 0), range(90)))
        opened = json.loads(live.site.run("-c", _CONNECTIONS))
        for each in streams:
            each.close()

    assert len(opened) <= 4
    assert set(done) == {None, 200}


def _ask(live: Live, *, reset: bool) -> int | None:
    """Read the Session; or ask for it and reset the connection, as one who lost patience does."""
    if not reset:
        return live.client.get(SESSION).status_code
    place = httpx.URL(live.client.base_url)
    with socket.create_connection((place.host, place.port or 80)) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.sendall(
            f"GET {SESSION} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {live.secret}\r\n\r\n".encode()
        )
    return None


_CONNECTIONS = """
import os, django, json
os.environ["DJANGO_SETTINGS_MODULE"] = "durable_site.settings"
django.setup()
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    print(json.dumps([row[0] for row in cursor.fetchall()]))
"""
