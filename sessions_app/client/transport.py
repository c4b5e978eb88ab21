"""One request, until its outcome is known: repeats are safe, since the server knows request ids.

What is sent again has the same body, so a control that was admitted gives the same receipt (R122).
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Final

import httpx2 as httpx

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import OBJECT, loads
from sessions_app.contract import errors
from sessions_app.streaming.subscriptions import Observers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from hands_app.contract.strict_json import JsonValue

ATTEMPTS: Final = 6
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
_POLL_SECONDS: Final = 1.0
_SUCCESS: Final = range(200, 300)
_STREAM_TIMEOUT: Final = 40.0
"""Seconds of silence after which a stream is given up; a comment comes every 15."""


def _kinds() -> Iterator[type[errors.DurableError]]:
    known = [errors.DurableError]
    while known:
        kind = known.pop()
        yield kind
        known += kind.__subclasses__()


CODES: Final = {kind.code: kind for kind in _kinds()}
"""The class of each stable code; the same ones that callers in the same process meet."""


class Transport:
    """Thread-safe. `pause` waits between attempts, for tests to replace."""

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 30.0,
        attempts: int = ATTEMPTS,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        """`address` is the site's; `timeout` is of one attempt, in seconds."""
        self._client = httpx.Client(
            base_url=f"{address.rstrip('/')}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
        )
        self._attempts = attempts
        self.pause = pause
        self.observers = Observers(poll_seconds=_POLL_SECONDS)

    def close(self) -> None:
        """End the subscriptions, then close the connections."""
        self.observers.close()
        self._client.close()

    def get(self, path: str, **query: object) -> JsonValue:
        """Read an address."""
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> JsonValue:
        """Change something, once for the request id in the body."""
        return self.call("POST", path, body)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> JsonValue:
        """Send until there is an answer; raises the error that the server names.

        Unavailable when nobody could be reached, OutcomeUnknown when what came is no answer; the
        request may have been done then, and may be sent again.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        failed: errors.DurableError = errors.Unavailable("nothing was sent")
        for attempt in range(self._attempts):
            if attempt:
                self.pause(_pause_of(attempt, failed))
            try:
                answer = self._client.request(method, path, params=_plain(given), json=body)
                return _read(answer)
            except httpx.HTTPError as error:
                failed = errors.Unavailable(f"{method} {path}: {type(error).__name__}")
            except (errors.Unavailable, errors.OutcomeUnknown) as error:
                failed = error
        raise failed

    def stream(self, path: str, after: str | None) -> Generator[bytes]:
        """Give the bytes of an event stream; raises Unavailable when it breaks."""
        headers = {"Last-Event-ID": after} if after else {}
        way = self._client.stream("GET", path, headers=headers, timeout=_STREAM_TIMEOUT)
        try:
            with way as answer:
                if answer.status_code not in _SUCCESS:
                    answer.read()
                    _read(answer)
                yield from answer.iter_raw()
        except httpx.HTTPError as error:
            msg = f"the stream broke: {type(error).__name__}"
            raise errors.Unavailable(msg) from error


def _plain(query: Mapping[str, object]) -> dict[str, str]:
    """Truths as JSON writes them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in query.items()
    }


def _pause_of(attempt: int, failed: errors.DurableError) -> float:
    """Doubling, with chance in it; never before the server said."""
    own: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)) * random.uniform(0.5, 1)  # noqa: S311 - spreads callers
    return max(own, float(getattr(failed, "retry_after", 0)))


def _read(answer: httpx.Response) -> JsonValue:
    """The JSON of a success; raises what a problem says, and OutcomeUnknown for neither."""
    try:
        said: Any = loads(answer.content, limits=OBJECT)
    except InvalidJson:
        said = None
    if answer.status_code in _SUCCESS and said is not None:
        return said  # type: ignore[no-any-return]  # strict JSON
    if isinstance(said, dict) and said.get("status") == answer.status_code:
        raise _error(said, answer.headers.get("Retry-After"))
    msg = f"an answer with status {answer.status_code} cannot be read"
    if answer.status_code in _SUCCESS:
        raise errors.OutcomeUnknown(msg)
    raise errors.Unavailable(msg)


def _error(said: dict[str, Any], retry_after: str | None) -> errors.DurableError:
    kind = CODES.get(str(said.get("code")), errors.DurableError)
    detail = str(said.get("detail", ""))
    if kind is errors.RateLimited:
        seconds = int(retry_after) if retry_after and retry_after.isdecimal() else 1
        return errors.RateLimited(detail, seconds)
    return kind(detail)
