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
    from collections.abc import Awaitable, Callable, Iterator, Mapping

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
        self,
        grown: Callable[[Mapping[SessionKey, int]], Awaitable[Mapping[SessionKey, int | None]]],
    ) -> None:
        """`grown` reads the newest sequence of each Session that has more than was seen of it."""
        self._grown = grown
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

    def _seen(self) -> dict[SessionKey, int]:
        """What the hindmost stream of each Session has seen."""
        seen: dict[SessionKey, int] = {}
        for each in self._streams:
            seen[each.key] = min(each.seen, seen.get(each.key, each.seen))
        return seen

    async def _look(self) -> None:
        while self._streams:
            begun = time.monotonic()
            try:
                grown = await self._grown(self._seen())
            except Unavailable as error:
                log.info("streams wait for the database: %s", error)
            except Exception:  # outermost: a fault of one look must not end them all
                log.exception("streams could not look for new events")
            else:
                for each in self._streams:
                    if each.key in grown:
                        each.told(grown[each.key])
            await asyncio.sleep(max(PERIOD, _SHARE * (time.monotonic() - begun)))
