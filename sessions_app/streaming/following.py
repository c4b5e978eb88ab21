"""One look for all streams of an event loop: which of their Sessions has grown (R107).

A hint is never needed: every stream is woken by what the look reads from the database.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping

    from sessions_app.contract.identity import SessionKey

log = logging.getLogger(__name__)

PERIOD: Final = 0.05
"""Seconds between looks; one that takes long is followed by a pause ten times as long."""
_SHARE: Final = 10


@dataclass(eq=False)
class Follower:
    """One stream: woken when its Session has events behind `seen`."""

    key: SessionKey
    seen: int = 0
    _grown: asyncio.Event = field(default_factory=asyncio.Event)

    def told(self, newest: int | None) -> None:
        """Hear of the newest sequence; None: the Session is gone, which a read will say."""
        if newest is None or newest > self.seen:
            self._grown.set()

    async def wait(self, seconds: float) -> bool:
        """Return True once there is more, False after so many seconds."""
        try:
            await asyncio.wait_for(self._grown.wait(), seconds)
        except TimeoutError:
            return False
        self._grown.clear()
        return True


class Following:
    """The streams of one event loop. Looks while there are any, and holds nothing otherwise."""

    def __init__(
        self, newest: Callable[[Collection[SessionKey]], Awaitable[Mapping[SessionKey, int]]]
    ) -> None:
        """`newest` reads the newest sequence of each of these Sessions."""
        self._newest = newest
        self._streams: set[Follower] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, key: SessionKey) -> Iterator[Follower]:
        """Follow a Session for the length of a block."""
        follower = Follower(key)
        self._streams.add(follower)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            yield follower
        finally:
            self._streams.discard(follower)

    def __len__(self) -> int:
        """How many streams there are."""
        return len(self._streams)

    async def _look(self) -> None:
        while self._streams:
            begun = time.monotonic()
            try:
                newest = await self._newest({each.key for each in self._streams})
            except Unavailable as error:
                log.info("streams wait for the database: %s", error)
            except Exception:  # outermost: a fault of one look must not end them all
                log.exception("streams could not look for new events")
            else:
                for each in tuple(self._streams):
                    each.told(newest.get(each.key))
            await asyncio.sleep(max(PERIOD, _SHARE * (time.monotonic() - begun)))
