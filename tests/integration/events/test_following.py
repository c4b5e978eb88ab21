"""Streams and subscriptions of a runtime over the real store (R105, R113)."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from sessions_app.contract.errors import Closed
from sessions_app.contract.observing import Committed
from sessions_app.runtime import DurableRuntime, SessionHandle
from tests.covers import covers

if TYPE_CHECKING:
    from sessions_app.contract.observing import Observed
    from tests.stores import Store


@covers("R113")
def test_looks_by_hand_find_what_came_since(store: Store) -> None:
    """R113: whoever has a loop of its own polls, page by page, and starts nothing."""
    key = store.session()
    store.submit(key, "r1")
    with DurableRuntime() as runtime:
        client = SessionHandle(key, runtime).event_client()
        first = client.poll(None, limit=2)
        rest = client.poll(first.cursor)
        store.submit(key, "r2")
        more = client.poll(rest.cursor)

    items = [item for look in (first, rest, more) for item in look.items]
    events = [item.event for item in items if isinstance(item, Committed)]
    assert len(events) == len(items)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert (first.is_at_end, rest.is_at_end, more.is_at_end) == (False, True, True)
    assert not [t for t in threading.enumerate() if t.name == "observer"]


@pytest.mark.parametrize("ends", ["close", "leave"])
async def test_a_stream_in_asynchronous_code_follows_and_ends(store: Store, ends: str) -> None:
    """It leaves the loop free, gives what comes, and ends with the runtime or its reader."""
    key = await sync_to_async(store.session)()
    async with DurableRuntime() as runtime:
        session = SessionHandle(key, runtime)
        stream = session.astream_events()
        seen = [await anext(stream)]
        await session.asubmit("r1", "hello")
        last = (await session.aview()).last_sequence
        while len(seen) < last:
            seen.append(await asyncio.wait_for(anext(stream), 10))
        if ends == "leave":
            await stream.aclose()  # type: ignore[attr-defined]  # a generator
        else:
            runtime.close()
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(stream), 10)

    assert all(isinstance(item, Committed) for item in seen)
    assert [item.event.sequence for item in seen if isinstance(item, Committed)] == list(
        range(1, last + 1)
    )


def test_a_closed_runtime_takes_no_subscription(store: Store) -> None:
    """Closing twice is harmless; subscribing later is told."""
    key = store.session()
    runtime = DurableRuntime()
    runtime.close()
    runtime.close()
    with pytest.raises(Closed):
        SessionHandle(key, runtime).subscribe_events(lambda _item: None)


@pytest.mark.postgresql
def test_observers_give_their_connections_back(store: Store) -> None:
    """Closed with the runtime: as many connections as before."""
    key = store.session()
    before = _connections()
    heard = threading.Event()
    with DurableRuntime(observer_parallelism=1) as runtime:

        def listener(_item: Observed) -> None:
            heard.set()

        SessionHandle(key, runtime).subscribe_events(listener)
        assert heard.wait(10)
        assert _connections() == before + 1

    assert _connections() == before


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        (count,) = cursor.fetchone() or (0,)
    return int(count)
