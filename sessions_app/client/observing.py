"""Following events over HTTP: streams that come again, polls, subscriptions (R118, R126)."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from sessions_app.client.reading import Handle
from sessions_app.contract import wire
from sessions_app.contract.errors import CursorExpired, OutcomeUnknown, RateLimited, Unavailable
from sessions_app.contract.events import EventView
from sessions_app.contract.frames import FrameKind, FrameReader
from sessions_app.contract.observing import Committed, SessionEventClient, SnapshotReset
from sessions_app.contract.snapshot import Snapshot
from sessions_app.streaming.subscriptions import Subscription, checked_listener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.client.transport import Transport
    from sessions_app.contract.events import EventFilter
    from sessions_app.contract.frames import Frame
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.observing import Observed
    from sessions_app.contract.paging import EventPage
    from sessions_app.streaming.subscriptions import Listener, OnError

log = logging.getLogger(__name__)
_AGAIN_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class RemoteTimeline(Handle):
    """Reads a site's timelines."""

    def events(
        self, key: SessionKey, cursor: str | None, limit: int, within: EventFilter
    ) -> EventPage[EventView]:
        """A page of persisted events."""
        asked = {"cursor": cursor, "limit": limit, **_named(within)}
        said = self.transport.get(f"{_path(key)}/events", **asked)
        try:
            return wire.parse_event_page(EventView, said)
        except ValueError as error:
            msg = "an answer is no page of events"
            raise OutcomeUnknown(msg) from error

    def snapshot(self, key: SessionKey, within: EventFilter) -> Snapshot:
        """The public state at one cursor."""
        return self.view_of(
            Snapshot, self.transport.get(f"{_path(key)}/snapshot", **_named(within))
        )


@dataclass(slots=True)
class _Stream:
    """One reader's position."""

    timeline: RemoteTimeline
    key: SessionKey
    within: EventFilter
    cursor: str | None = field(default=None)

    def items(self) -> Iterator[Observed]:
        """Give items for ever."""
        while True:
            pause = _AGAIN_SECONDS
            try:
                yield from self._of_one_connection()
            except CursorExpired:
                yield from self._reset()
                continue
            except RateLimited as error:
                pause = error.retry_after
            except (Unavailable, OutcomeUnknown) as error:
                log.info("%s: the stream broke off: %s", self.key, error)
            self.timeline.transport.pause(pause)

    def _reset(self) -> Iterator[SnapshotReset]:
        """Begin again behind a snapshot, if there is one to be had now."""
        try:
            snapshot = self.timeline.snapshot(self.key, self.within)
        except (Unavailable, OutcomeUnknown) as error:
            log.info("%s: no snapshot to go on from: %s", self.key, error)
            return
        self.cursor = snapshot.cursor
        yield SnapshotReset(snapshot)

    def _of_one_connection(self) -> Iterator[Observed]:
        path = f"{_path(self.key)}/events/stream?{urlencode(_named(self.within))}"
        reader = FrameReader()
        with closing(self.timeline.transport.stream(path, self.cursor)) as text:
            for more in text:
                for frame in reader.feed(more):
                    yield from self._of_frame(frame)

    def _of_frame(self, frame: Frame) -> Iterator[Observed]:
        if frame.kind is FrameKind.RESYNC:
            msg = "the position is no longer kept"
            raise CursorExpired(msg)
        if frame.kind is FrameKind.DURABLE:
            yield Committed(self.timeline.view_of(EventView, frame.data))
        self.cursor = frame.id or self.cursor  # moves when the reader comes for the next item


def stream(
    transport: Transport, key: SessionKey, cursor: str | None, within: EventFilter
) -> Iterator[Observed]:
    """Give what is behind a cursor, then what comes, for ever; none is lost and none comes twice.

    A position that expired gives a SnapshotReset. Raises Invalid, NotFound, Forbidden.
    """
    return _Stream(RemoteTimeline(transport), key, within, cursor).items()


def event_client(transport: Transport, key: SessionKey, within: EventFilter) -> SessionEventClient:
    """A client that looks by hand (R113)."""
    return SessionEventClient(RemoteTimeline(transport), key, within)


def subscribe(
    transport: Transport,
    client: SessionEventClient,
    listener: Listener,
    cursor: str | None,
    on_error: OnError | None,
) -> Subscription:
    """Subscribe as the runtime of a site's own process does, with looks a second apart."""
    checked_listener(listener)
    client.poll(cursor, 1)
    return transport.observers.add(Subscription(client, listener, cursor, on_error))


def _path(key: SessionKey) -> str:
    return f"/namespaces/{key.namespace}/sessions/{key.session_id}"


def _named(within: EventFilter) -> dict[str, Any]:
    named = {"threadId": within.thread_id, "turnId": within.turn_id, "runId": within.run_id}
    return {name: value for name, value in named.items() if value is not None}
