"""Slots, lanes and looks: which ready Threads this process claims, and when (S13, S16, R169).

A lane is a slot at work: it drives a Turn, then claims the next, until the backlog is gone. A look
fills free slots. Hints, scans and sweeps all come down to a look; none of them carries truth.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from sessions_app.brain.boundary import LONGEST_PAUSE
from sessions_app.brain.failure import trace
from sessions_app.brain.ticking import Ticking
from sessions_app.contract.errors import OwnershipLost, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.brain.database import Database
    from sessions_app.brain.lease import Held, Leases
    from sessions_app.brain.loop import Driver
    from sessions_app.contract.backend import Claim, HostIdentity
    from sessions_app.ports import SessionBackend

log = logging.getLogger(__name__)

MISSED_SCANS: Final = 3
_AFTER_DRAIN: Final = 5.0
_SLACK: Final = 0.1


class Scheduler:
    """Lives on the loop: no two of its steps run at once, so slots need no lock."""

    def __init__(
        self, backend: SessionBackend, database: Database, host: HostIdentity, leases: Leases
    ) -> None:
        """Nothing is claimed before `open`."""
        self._backend = backend
        self._database = database
        self._host = host
        self._leases = leases
        self._free = 0
        self._drains = False
        self._driver: Driver | None = None
        self._lanes: set[asyncio.Task[None]] = set()
        self._asking = asyncio.Lock()

    @property
    def drains(self) -> bool:
        """True once this process was told to stop."""
        return self._drains

    @property
    def is_idle(self) -> bool:
        """True when nothing runs here."""
        return not self._lanes

    def open(self, driver: Driver, slots: int) -> None:
        """Begin to claim: presence and the Host row stand (S4)."""
        if self._driver is None:
            self._driver = driver
            self._free = slots

    async def advance(self, thread_pk: str) -> None:
        """Look at the hinted Thread first; run what was claimed and go on through the backlog."""
        lane = await self.look(thread_pk)
        if lane is not None:
            await asyncio.wait([lane])

    async def look(self, first: str | None = None) -> asyncio.Task[None] | None:
        """Claim into the free slots; gives the first lane that was opened."""
        async with self._asking:
            lanes = [self._open_lane(held) for held in await self._claim(self._free, first)]
        return lanes[0] if lanes else None

    async def drain(self, seconds: float) -> bool:
        """Claim nothing more and hand Turns over at their next safe boundary (S24).

        At the timeout whatever has no local effect in flight is handed over at once. False: the
        rest goes on and keeps its leases until the process ends.
        """
        self._drains = True
        await self._wait_for_lanes(seconds)
        for held in self._leases.live():
            if not held.has_effects():
                held.stop("drain")
        await self._wait_for_lanes(_AFTER_DRAIN)
        return self.is_idle

    async def _wait_for_lanes(self, seconds: float) -> None:
        if self._lanes:
            await asyncio.wait(self._lanes, timeout=seconds)

    def _open_lane(self, held: Held) -> asyncio.Task[None]:
        self._free -= 1
        lane = asyncio.create_task(self._lane(held))
        self._lanes.add(lane)
        lane.add_done_callback(self._lanes.discard)
        return lane

    async def _lane(self, held: Held | None) -> None:
        try:
            while held is not None:
                await self._drive(held)
                held = await self._next()
        finally:
            self._free += 1

    async def _drive(self, held: Held) -> None:
        assert self._driver is not None  # noqa: S101 - nothing is claimed before `open`
        try:
            await self._driver.drive(held)
        finally:
            self._leases.drop(held)

    async def _next(self) -> Held | None:
        """The next Turn for a slot that has become free; idle slots are filled by the way."""
        async with self._asking:
            found = await self._claim(1 + self._free)
            for held in found[1:]:
                self._open_lane(held)
        return found[0] if found else None

    async def _claim(self, limit: int, first: str | None = None) -> list[Held]:
        """Claim in one transaction. Storage that is away is no error here: the scan looks again."""
        if limit < 1 or self._drains or self._driver is None:
            return []
        running = self._leases.live()
        suspects = not any(held.claim.suspect for held in running)
        asked_at = time.monotonic()
        try:
            claims: list[Claim] = await self._database(
                self._backend.claim,
                self._host,
                limit=limit,
                first=first,
                suspects=suspects,
                running=[held.claim.thread_pk for held in running],
            )
        except Unavailable as error:
            log.info("nothing claimed: %s", error)
            await asyncio.sleep(LONGEST_PAUSE)
            return []
        except OwnershipLost as lost:
            log.warning("nothing claimed: %s", lost)  # the watch joins again with its next look
            return []
        except Exception as error:  # noqa: BLE001 # outermost: of a lane; the next look tries again
            log.error("claiming failed: %s", trace(error))  # noqa: TRY400 - its message may be private
            return []
        return [self._leases.hold(claim, asked_at) for claim in claims]


class Scanner:
    """The thread that looks by itself, broker or not, and scans when nobody else did."""

    def __init__(
        self,
        backend: SessionBackend,
        host: HostIdentity,
        look: Callable[[], object],
        *,
        period: float,
    ) -> None:
        """`look` asks the scheduler to fill its free slots; it returns at once."""
        self._backend = backend
        self._host = host
        self._look = look
        self._period = period
        self._mine_at: float | None = None
        self._ticking = Ticking("brain-scanner", self._tick)

    def start(self) -> None:
        """Begin."""
        self._ticking.start()

    def close(self) -> None:
        """End."""
        self._ticking.close()

    def _tick(self) -> float:
        if self._is_due(self._backend.last_scan_age()):
            self._mine_at = time.monotonic()
            self._backend.scan(self._host, own=True)
        self._look()
        return self._period

    def _is_due(self, age: float | None) -> bool:
        """After three missed periods, and then each period for as long as nobody else scans."""
        if age is None or age > MISSED_SCANS * self._period:
            return True
        if self._mine_at is None:
            return False
        return age >= max(self._period, time.monotonic() - self._mine_at) - _SLACK
