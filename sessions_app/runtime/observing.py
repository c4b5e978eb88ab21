"""Following events from Python: pages by hand, streams, and subscriptions (R018, R105 to R113)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from asgiref.sync import sync_to_async
from django.db import connections

from sessions_app.contract.errors import Unavailable
from sessions_app.contract.observing import Poll, SessionEventClient
from sessions_app.store import snapshots, timeline
from sessions_app.streaming.subscriptions import (
    POLL_SECONDS,
    Observers,
    Subscription,
    checked_listener,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sessions_app.contract.events import EventFilter, EventView
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.observing import Observed
    from sessions_app.contract.paging import EventPage
    from sessions_app.contract.snapshot import Snapshot
    from sessions_app.runtime.runtime import DurableRuntime
    from sessions_app.streaming.subscriptions import Listener, OnError

log = logging.getLogger(__name__)
_NOTHING: Final = Poll((), None, is_at_end=True)


class StoreTimeline:
    """Reads the database of this process."""

    def events(
        self, key: SessionKey, cursor: str | None, limit: int, within: EventFilter
    ) -> EventPage[EventView]:
        """A page of persisted events."""
        return timeline.events(key, cursor, limit, within)

    def snapshot(self, key: SessionKey, within: EventFilter) -> Snapshot:
        """The public state at one cursor."""
        return snapshots.snapshot(key, within)


def observers(parallelism: int) -> Observers:
    """Make the observer threads of a runtime; they keep their connections while they live."""
    return Observers(parallelism, let_go=connections.close_all)


def event_client(key: SessionKey, within: EventFilter) -> SessionEventClient:
    """A client that looks by hand (R113)."""
    return SessionEventClient(StoreTimeline(), key, within)


def stream(
    runtime: DurableRuntime, client: SessionEventClient, cursor: str | None
) -> Iterator[Observed]:
    """Give what is behind a cursor, then what comes, until the runtime is closed.

    A database that is away is waited for; what is wrong with the question is raised.
    """
    while not runtime.closed.is_set():
        found = _look(client, cursor)
        yield from found.items
        cursor = found.cursor or cursor
        if found.is_at_end:
            runtime.closed.wait(POLL_SECONDS)


async def astream(
    runtime: DurableRuntime, client: SessionEventClient, cursor: str | None
) -> AsyncIterator[Observed]:
    """Do as `stream` does, with the loop free meanwhile."""
    look = sync_to_async(_look)
    while not runtime.closed.is_set():
        found = await look(client, cursor)
        for item in found.items:
            yield item
        cursor = found.cursor or cursor
        if found.is_at_end:
            await asyncio.sleep(POLL_SECONDS)


def subscribe(
    runtime: DurableRuntime,
    client: SessionEventClient,
    listener: Listener,
    cursor: str | None,
    on_error: OnError | None,
) -> Subscription:
    """Call the listener with each item, one after the other, until it is closed.

    The first page is read here, so that a wrong cursor or an unknown Session is raised and not
    reported; raises Invalid for a coroutine function, which nobody would await.
    """
    checked_listener(listener)
    client.poll(cursor, 1)
    return runtime.observers.add(Subscription(client, listener, cursor, on_error))


def _look(client: SessionEventClient, cursor: str | None) -> Poll:
    try:
        return client.poll(cursor)
    except Unavailable as error:
        log.info("%s: a stream waits for the database: %s", client.key, error)
        return _NOTHING
