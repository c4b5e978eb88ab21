"""The event stream: the timeline as it grows, from a cursor on (R124 to R127).

The request itself is authorized and reads its first page like any other, so what is refused is
refused before the body begins. Then a stream waits without a thread and without a connection; pages
are read on few threads that all streams share, only as fast as the reader takes them.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from django.db import close_old_connections, connections
from django.http import StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET

from sessions_app.api import authorizing, problems
from sessions_app.api.operations import authenticate, check_query
from sessions_app.api.seats import SEATS
from sessions_app.contract import frames, wire
from sessions_app.contract.errors import CursorExpired, DurableError, NotFound, Unavailable
from sessions_app.contract.frames import Frame, FrameKind
from sessions_app.contract.grants import Identity, Operation
from sessions_app.contract.identity import SessionKey
from sessions_app.store import timeline
from sessions_app.streaming.following import Following

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from django.http import HttpRequest, HttpResponseBase

    from sessions_app.contract.events import EventFilter, EventView
    from sessions_app.contract.paging import EventPage

P = ParamSpec("P")
T = TypeVar("T")

KEEP_ALIVE_SECONDS: Final = 15.0
RECHECK_SECONDS: Final = 30.0
AWAY_SECONDS: Final = 1.0
"""Between two tries to read from a database that is away."""
_PAGE: Final = 200
_THREADS: Final = 4
_PARAMETERS: Final = frozenset({"cursor", "threadId", "turnId", "runId"})
_HEADERS: Final = {
    "Cache-Control": "no-store, no-transform",  # C60: nothing on the way may gather or pack it
    "X-Accel-Buffering": "no",
    "Content-Encoding": "identity",  # Django's own compression leaves what has an encoding
}


@csrf_exempt  # it changes nothing, and whoever may not come in is told so
@require_GET
def stream(request: HttpRequest, namespace: str, session_id: str) -> HttpResponseBase:
    """Follow a Session's events, or those of a Thread, Turn or Run of it."""
    try:
        identity = authenticate(request)
        check_query(request, _PARAMETERS)
        authorizing.current().authorize(identity, Operation.STREAM, namespace, session_id)
        key = SessionKey(namespace, session_id)
        scope = (request.GET.get(name) for name in ("threadId", "turnId", "runId"))
        within = timeline.scope(key, *scope)
        cursor = request.headers.get("Last-Event-ID") or request.GET.get("cursor") or None
        first = timeline.events(key, cursor, _PAGE, within)
        seat = SEATS.take(identity)
    except DurableError as error:
        return problems.of_error(error)
    finally:
        connections.close_all()  # the response may live for hours, its connection must not
    return _Seated(_Stream(identity, key, within, first).frames(), seat)


class _Seated(StreamingHttpResponse):
    """Gives its seat back however it ends: a reader may vanish before the first byte (C58, C59)."""

    def __init__(self, body: AsyncIterator[bytes], leave: Callable[[], None]) -> None:
        super().__init__(body, content_type=frames.MEDIA_TYPE, headers=_HEADERS)
        self._leave = leave

    def close(self) -> None:
        """Django calls this at the end of every response, whatever became of it."""
        self._leave()
        super().close()


class _Stream:
    """One reader's stream."""

    def __init__(
        self, identity: Identity, key: SessionKey, within: EventFilter, first: EventPage[EventView]
    ) -> None:
        self._identity = identity
        self._key = key
        self._within = within
        self._page = first
        self._checked_at = time.monotonic()

    async def frames(self) -> AsyncIterator[bytes]:
        """Give frames for ever; ends when the cursor expired or the grant holds no more."""
        with _following().follow(self._key) as follower:
            yield frames.KEEP_ALIVE  # the headers leave at once
            while True:
                for frame in _of_page(self._page):
                    yield frames.render(frame)
                follower.seen = self._page.through
                while self._is_at_end() and not await follower.wait(KEEP_ALIVE_SECONDS):
                    yield frames.KEEP_ALIVE
                    if not await self._may_go_on():
                        return
                if not await self._may_go_on():
                    return
                try:
                    while not await self._read_on():
                        yield frames.KEEP_ALIVE  # whoever waits with us notices a reader that left
                        await asyncio.sleep(AWAY_SECONDS)
                except (CursorExpired, NotFound):
                    yield frames.render(Frame(FrameKind.RESYNC, {"code": CursorExpired.code}))
                    return

    def _is_at_end(self) -> bool:
        return self._page.through >= self._page.last_sequence

    async def _read_on(self) -> bool:
        """Read the next page; False while the database is away."""
        try:
            cursor = self._page.next_cursor
            self._page = await _on_reader(timeline.events, self._key, cursor, _PAGE, self._within)
        except Unavailable:
            return False
        return True

    async def _may_go_on(self) -> bool:
        """Look at the grant again, every half a minute (T12)."""
        if time.monotonic() - self._checked_at < RECHECK_SECONDS:
            return True
        self._checked_at = time.monotonic()
        try:
            now = await _on_reader(authorizing.current().recheck, self._identity)
            now.check(Operation.STREAM, self._key.namespace)
        except Unavailable:
            return True
        except DurableError:
            return False
        return True


def _of_page(page: EventPage[EventView]) -> Iterator[Frame]:
    """A page's frames; over what a filter left out, the cursor moves by itself (R093)."""
    for event in page.items:
        yield Frame(FrameKind.DURABLE, wire.render(event), event.cursor)
    shown = page.items[-1].cursor if page.items else None
    if page.next_cursor not in {None, shown}:
        yield Frame(FrameKind.CURSOR, {"cursor": page.next_cursor}, page.next_cursor)


_READERS: Final = ThreadPoolExecutor(_THREADS, "stream-reader")
_FOLLOWING: WeakKeyDictionary[asyncio.AbstractEventLoop, Following] = WeakKeyDictionary()


def _following() -> Following:
    """What the streams of this event loop share."""
    loop = asyncio.get_running_loop()
    if loop not in _FOLLOWING:
        _FOLLOWING[loop] = Following(_grown)
    return _FOLLOWING[loop]


async def _grown(seen: Mapping[SessionKey, int]) -> dict[SessionKey, int | None]:
    return await _on_reader(timeline.grown, seen)


async def _on_reader(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Read the database on one of few threads, which hold a connection only while they read."""

    def reading() -> T:
        try:
            return read(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_READERS, reading)
