"""Leases: which invocations live in this process, and the thread that renews just those (S3, S15).

The database says who owns a Thread. What is kept here is only when this process must stop trusting
that it still does; local time is monotonic and never decides against the database (law 5).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from sessions_app.brain.ticking import Ticking
from sessions_app.contract.errors import OwnershipLost

if TYPE_CHECKING:
    from sessions_app.brain.eventloop import EventLoop
    from sessions_app.contract.backend import Claim, RenewAnswer

log = logging.getLogger(__name__)

Pair = tuple[str, str]
Renew = Callable[[Sequence[Pair]], dict[Pair, "RenewAnswer"]]
Stop = Literal["lost", "drain"]

FROZEN_SECONDS: Final = 60.0
FROZEN_EXIT: Final = 70
_LOCKED_AGAIN: Final = 0.3
_LOOP_LOOK: Final = 1.0
_TRUST_AGAIN: Final = 0.1


class Held:
    """One live invocation: its claim, how long its lease may be trusted, and how to stop it."""

    def __init__(self, claim: Claim, asked_at: float, lease_seconds: float) -> None:
        """`asked_at` is monotonic: the moment before the claim was sent."""
        self.claim = claim
        self.lease_seconds = lease_seconds
        self.until = asked_at + lease_seconds
        self.stopped: Stop | None = None
        self.has_effects: Callable[[], bool] = lambda: False
        self._work: asyncio.Task[object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def pair(self) -> Pair:
        """What a renewal names: never "all of this host" (S3)."""
        return self.claim.thread_pk, self.claim.token

    @property
    def is_lost(self) -> bool:
        """True when another token is known to be current, or nobody could say for too long."""
        return self.stopped == "lost"

    def runs(self, work: asyncio.Task[object]) -> None:
        """Name the task that a stop cancels. Called on the loop."""
        self._work = work
        self._loop = asyncio.get_running_loop()
        if self.stopped is not None:
            work.cancel()

    def stop(self, why: Stop) -> None:
        """Cancel the invocation from any thread; being lost outranks every other reason."""
        if self.stopped is None or why == "lost":
            self.stopped = why
        if self._work is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._work.cancel)

    def renewed(self, asked_at: float) -> None:
        """Trust the lease for its length from the moment before the renewal was sent."""
        self.until = max(self.until, asked_at + self.lease_seconds)

    def is_beyond_hope(self) -> bool:
        """True when nobody could say for a whole lease after the lease ran out."""
        return time.monotonic() > self.until + self.lease_seconds

    def check(self) -> None:
        """Raise OwnershipLost when this invocation may commit nothing any more."""
        if self.is_lost:
            msg = f"thread {self.claim.thread_pk} is owned under another token"
            raise OwnershipLost(msg)

    async def trusted(self) -> None:
        """Wait until the lease is known to hold; nothing with an effect begins before (S3).

        Only a process that was stopped, or that cannot reach its database, waits here at all.
        """
        while time.monotonic() >= self.until:
            self.check()
            await asyncio.sleep(_TRUST_AGAIN)
        self.check()


class Leases:
    """The registry of live invocations. Whatever is not in it is never renewed."""

    def __init__(self, lease_seconds: float) -> None:
        """Begin empty."""
        self._lease_seconds = lease_seconds
        self._live: dict[Pair, Held] = {}
        self._lock = threading.Lock()

    def hold(self, claim: Claim, asked_at: float) -> Held:
        """Register a claim that was asked for at this monotonic time."""
        held = Held(claim, asked_at, self._lease_seconds)
        with self._lock:
            self._live[held.pair] = held
        return held

    def drop(self, held: Held) -> None:
        """Forget an invocation: it ended, in whatever way, and whatever is left of it is lost."""
        held.stop("lost")
        with self._lock:
            self._live.pop(held.pair, None)

    def live(self) -> list[Held]:
        """All live invocations, in the order in which renewals lock them."""
        with self._lock:
            return [self._live[pair] for pair in sorted(self._live)]

    def threads(self) -> frozenset[str]:
        """Primary keys of the Threads that run here."""
        return frozenset(held.claim.thread_pk for held in self.live())

    def answered(self, answers: dict[Pair, RenewAnswer], asked_at: float) -> bool:
        """Take in a renewal's answers; True when some row was locked and wants another try."""
        locked = False
        for held in self.live():
            match answers.get(held.pair):
                case "renewed":
                    held.renewed(asked_at)
                case "superseded":
                    log.warning("lost thread %s to another owner", held.claim.thread_pk)
                    held.stop("lost")
                case "locked":
                    locked = True
                case None:
                    pass
        return locked

    def stop_all(self, why: Stop) -> None:
        """Stop every live invocation."""
        for held in self.live():
            held.stop(why)


class Renewals:
    """The thread that renews, on its own connection, and that notices a loop that has frozen."""

    def __init__(
        self,
        leases: Leases,
        renew: Renew,
        pulse: Pulse,
        *,
        period: float,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        """`renew` stamps the Host too; `leave` ends the process at once."""
        self._leases = leases
        self._renew = renew
        self._pulse = pulse
        self._period = period
        self._leave = leave
        self._due = 0.0
        self._ticking = Ticking("brain-renewals", self._tick)

    def start(self) -> None:
        """Begin."""
        self._ticking.start()

    def now(self) -> None:
        """Renew at once: the presence lock was taken again, or a lease is no longer trusted."""
        self._due = 0.0
        self._ticking.now()

    def close(self) -> None:
        """Stop renewing."""
        self._ticking.close()

    def _tick(self) -> float:
        """Renew when it is time; returns the seconds to the next look."""
        if self._pulse.is_gone():
            log.critical("the loop does not answer; leases are left to expire")
            self._leave(FROZEN_EXIT)
            return self._period
        now = time.monotonic()
        if now >= self._due:
            # What is lost still stops here; renewed, nobody could take it up for a whole lease.
            ours = [held.pair for held in self._leases.live() if not held.is_lost]
            answers = self._renew(ours)
            locked = self._leases.answered(answers, now)
            self._due = now + (_LOCKED_AGAIN if locked else self._period)
        return max(0.0, min(self._due - time.monotonic(), _LOOP_LOOK))


class Pulse:
    """Whether the loop still answers.

    Counts own looks, not the clock: a process that was stopped as a whole is not taken for frozen.
    """

    def __init__(self, loop: EventLoop, patience: float = FROZEN_SECONDS) -> None:
        """Begin with a loop that answers; `patience` is how long it may be silent."""
        self._loop = loop
        self._patience = patience
        self._answered = loop.ask()
        self._looked_at = time.monotonic()
        self._silent = 0.0

    def is_gone(self) -> bool:
        """True when the loop has been silent beyond patience while this thread itself was awake."""
        now = time.monotonic()
        waited, self._looked_at = min(now - self._looked_at, _LOOP_LOOK), now
        if self._answered.is_set():
            self._silent = 0.0
            self._answered = self._loop.ask()
        else:
            self._silent += waited
        return self._silent > self._patience
