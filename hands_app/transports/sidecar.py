"""The sidecar protocol: a Hands host over HTTP, as a small ASGI application (R174).

| Request | Body | Answer |
| - | - | - |
| `POST /v1/commands` | an execute envelope | 202 `{"taken": true}` once it is durable |
| `POST /v1/controls` | a cancel, query or output envelope | 202 `{"taken": true}` |
| `GET /v1/updates?wait=20` | | 200 `{"updates": ["<envelope>", …]}`, as soon as there are any |
| `POST /v1/acknowledged` | `{"events": ["evt_…", …]}` | 200 `{"taken": true}`; they come no more |

The Brain asks and so needs no open port. Every request carries `Authorization: Bearer <token>`;
without it nothing is read. Errors are `{"code", "message"}`: 4xx can never succeed, 503 may later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib.parse import parse_qs

from hands_app.contract.errors import (
    Conflict,
    Forbidden,
    HandsError,
    InvalidEnvelope,
    NotFound,
    Rejected,
    Unavailable,
)
from hands_app.contract.strict_json import Limits, canonical, loads
from hands_app.contract.wire import MAX_ENVELOPE_BYTES, encode
from hands_app.transports.token import fits
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Collection

    from hands_app.contract.messages import Update
    from hands_app.contract.strict_json import JsonValue
    from hands_app.transports.local import Obeys

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer: TypeAlias = "tuple[int, dict[str, JsonValue]]"

LONGEST_WAIT: Final = 30.0
MOST_UPDATES: Final = 100
MOST_BYTES: Final = 4 * 1024 * 1024
"""Of one answer with updates; the first is given out whatever its size."""
BODY_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 1.0
_ANSWER: Final = Limits(bytes=4 * MOST_BYTES)
_STATUS: Final[tuple[tuple[type[HandsError], int], ...]] = (
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Rejected, 422),
)
_log = logging.getLogger(__name__)


class Fetched(Protocol):
    """Where updates lie until somebody has them."""

    def take(self, limit: int) -> list[Update]:
        """Give out updates; raises Unavailable."""

    def acknowledge(self, event_ids: Collection[str]) -> None:
        """Forget updates; raises Unavailable."""

    def listen(self, listener: Callable[[], None]) -> None:
        """Say when there are new ones."""

    def ignore(self, listener: Callable[[], None]) -> None:
        """Say it no more."""


class TooLarge(Exception):
    """A body above the limit."""


class Sidecar:
    """An ASGI application. Controls have threads of their own, so no backlog delays one (R178)."""

    def __init__(self, host: Obeys, shelf: Fetched, token: str) -> None:
        self._host = host
        self._shelf = shelf
        self._token = token
        self._threads = {
            name: ThreadPoolExecutor(4, thread_name_prefix=f"sidecar-{name}")
            for name in ("commands", "controls", "updates")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await _live(receive, send)
            return
        status, document = await self._answer(scope, receive)
        body = canonical(document, limits=_ANSWER)
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        headers.append((b"content-length", str(len(body)).encode()))
        if status in {401, 408, 413}:
            headers.append((b"connection", b"close"))  # the rest of the body is never read
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def close(self) -> None:
        """End the threads."""
        for each in self._threads.values():
            each.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        headers = dict(scope["headers"])
        if not fits(headers.get(b"authorization"), self._token):
            return _refused(401, "UNAUTHENTICATED", "give the token as a bearer")
        try:
            return await self._routed(scope, receive)
        except Exception as error:  # noqa: BLE001 - the outermost frame of a request
            return _failed(error)

    async def _routed(self, scope: Scope, receive: Receive) -> Answer:
        match scope["method"], scope["path"]:
            case "POST", "/v1/commands":
                await self._do("commands", self._host.execute, (await _body(receive)).decode())
                return 202, {"taken": True}
            case "POST", "/v1/controls":
                await self._do("controls", self._host.control, (await _body(receive)).decode())
                return 202, {"taken": True}
            case "POST", "/v1/acknowledged":
                events = _events(await _body(receive))
                await self._do("updates", self._shelf.acknowledge, events)
                return 200, {"taken": True}
            case "GET", "/v1/updates":
                return 200, {"updates": await self._updates(_wait(scope), receive)}
            case _:
                return _refused(404, "NOT_FOUND", "no such resource")

    async def _do(self, what: str, work: Callable[[Any], Any], given: object) -> Any:  # noqa: ANN401 - what the work returns
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads[what], work, given)

    async def _updates(self, seconds: float, receive: Receive) -> list[JsonValue]:
        """Wait for updates, unless the caller goes away: then none are given out to nobody."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def listener() -> None:
            loop.call_soon_threadsafe(news.set)

        until, gone = loop.time() + seconds, asyncio.ensure_future(_gone(receive))
        self._shelf.listen(listener)
        try:
            while True:
                news.clear()
                found = await self._do("updates", self._shelf.take, MOST_UPDATES)
                left = until - loop.time()
                if found or left <= 0 or gone.done():
                    return _some(found)
                heard = asyncio.ensure_future(news.wait())
                await asyncio.wait(
                    {heard, gone},
                    timeout=min(left, _LOOK_SECONDS),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                heard.cancel()
        finally:
            self._shelf.ignore(listener)
            gone.cancel()


def _failed(error: Exception) -> Answer:
    match error:
        case TooLarge():
            return _refused(413, "TOO_LARGE", f"a body has at most {MAX_ENVELOPE_BYTES} bytes")
        case TimeoutError():
            return _refused(408, "TIMEOUT", "the body did not come in time")
        case Unavailable():
            return _refused(503, error.code, "not now; send it again")
        case Rejected():
            status = next(known for kind, known in _STATUS if isinstance(error, kind))
            return _refused(status, error.code, str(error))
        case _:
            _log.error("a request failed: %s", trouble(error))
            return _refused(500, "INTERNAL", "the request failed")


def _some(updates: list[Update]) -> list[JsonValue]:
    """As many as fit into one answer; the others are given out again after a while."""
    chosen: list[JsonValue] = []
    size = 0
    for update in updates:
        text = encode(update)
        size += len(text)
        if chosen and size > MOST_BYTES:
            break
        chosen.append(text)
    return chosen


async def _body(receive: Receive) -> bytes:
    """Read a body of bounded size in bounded time."""
    body = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise TimeoutError
            body += message.get("body", b"")
            if len(body) > MAX_ENVELOPE_BYTES:
                raise TooLarge
            if not message.get("more_body", False):
                return _text(bytes(body))


def _text(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        message = "the body is no UTF-8"
        raise InvalidEnvelope(message) from error
    return body


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _events(body: bytes) -> list[str]:
    document = loads(body)
    events = document.get("events") if isinstance(document, dict) else None
    if not isinstance(events, list) or len(events) > MOST_UPDATES:
        message = f"give `events`, a list of at most {MOST_UPDATES} event ids"
        raise InvalidEnvelope(message)
    return [each for each in events if isinstance(each, str)]


def _wait(scope: Scope) -> float:
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("wait", ["0"])[0]
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_WAIT:
        message = f"`wait` is a number of seconds, at most {LONGEST_WAIT:g}"
        raise InvalidEnvelope(message)
    return seconds


def _refused(status: int, code: str, message: str) -> Answer:
    return status, {"code": code, "message": message}
