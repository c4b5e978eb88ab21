"""The watch: keeps this process's presence and looks for processes that died (S4).

A host is swept when its lock was found free at two looks half a second apart on one unbroken
connection, without a renewal between them. The store looks once more and keeps the grace after a
gap. After a reconnection others are given time to take their locks again too.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sessions_app.brain.ticking import Ticking
from sessions_app.contract.errors import Incompatible

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.brain.presence import Presence
    from sessions_app.contract.backend import HostIdentity, LivingHost
    from sessions_app.ports import SessionBackend

log = logging.getLogger(__name__)

BETWEEN_LOOKS: Final = 0.5
AFTER_BREAK: Final = 2.0
_RETRY: Final = 0.2
_CROWD: Final = 4


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A first look that found a lock free."""

    host: LivingHost
    connected: int
    at: float


@dataclass(frozen=True, slots=True)
class News:
    """What the watch may have to tell this process."""

    taken: Callable[[], object]
    """The lock was taken, or taken again, and the Host row is written."""
    freed: Callable[[], object]
    """Threads of a dead host can be claimed."""
    told: Callable[[], object]
    """An operator wants this process to drain; said once."""
    lost: Callable[[], object]
    """Others take this process for dead."""


class Watch:
    """The thread that keeps the presence lock and sweeps, with its own database connection."""

    def __init__(
        self,
        backend: SessionBackend,
        presence: Presence,
        host: HostIdentity,
        news: News,
        *,
        period: float,
    ) -> None:
        """`news` is called from the watch's thread."""
        self._backend = backend
        self._presence = presence
        self._host = host
        self._period = period
        self._news = news
        self._drains = False
        self._joined = False
        self._refusal = ""
        self._trust_at = 0.0
        self._suspicions: dict[str, Suspicion] = {}
        self._ticking = Ticking("brain-watch", self._tick, longest_backoff=_RETRY)

    def start(self) -> None:
        """Begin: take the lock, then write the Host row, then look."""
        self._ticking.start()

    def close(self) -> None:
        """Stop looking; the lock is kept."""
        self._ticking.close()

    def _tick(self) -> float:
        if self._presence.keep():
            self._joined = False
            self._trust_at = time.monotonic() + (AFTER_BREAK if self._presence.connected > 1 else 0)
        if not self._joined:
            try:
                self._backend.join(self._host, self._presence.key)
            except Incompatible as error:
                return self._refused(error)
            self._joined = True
            self._news.taken()
        return self._look()

    def _refused(self, why: Incompatible) -> float:
        """Nothing is claimed here until the matter is settled; its words are ours to show."""
        if self._refusal != str(why):
            self._refusal = str(why)
            log.error("%s was refused and claims nothing: %s", self._host.host_id, why)
        return _RETRY

    def _look(self) -> float:
        """One look at every other host. Many processes share the looking: its sum is bounded."""
        living = self._backend.living()
        others = [host for host in living if host.host_id != self._host.host_id]
        if len(others) == len(living):
            return self._come_back()
        self._obey(living)
        free = self._presence.free({host.presence_key for host in others})
        dead = self._confirmed([host for host in others if host.presence_key in free])
        if dead and self._backend.sweep(self._host, dead):
            log.warning("took over from %s", ", ".join(host.host_id for host in dead))
            self._news.freed()
        crowd = 1 if self._suspicions else max(1, len(others) / _CROWD)
        return self._period * crowd

    def _come_back(self) -> float:
        """Our Host row is marked lost: stop what runs here, and join again with the next look."""
        log.warning("%s was taken for dead; its Turns stop here", self._host.host_id)
        self._news.lost()
        self._joined = False
        return 0.0

    def _obey(self, living: list[LivingHost]) -> None:
        if self._drains or not any(
            host.draining for host in living if host.host_id == self._host.host_id
        ):
            return
        self._drains = True
        log.info("told to drain: nothing more is claimed here")
        self._news.told()

    def _confirmed(self, suspects: list[LivingHost]) -> list[LivingHost]:
        """Those found free before, long enough ago, on this connection, and silent since."""
        now = time.monotonic()
        if now < self._trust_at:
            return []
        fresh = {host.host_id: Suspicion(host, self._presence.connected, now) for host in suspects}
        known = {
            name: old
            for name, old in self._suspicions.items()
            if name in fresh
            and old.connected == self._presence.connected
            and old.host.seen_at == fresh[name].host.seen_at
        }
        self._suspicions = {**fresh, **known}
        return [old.host for old in known.values() if now - old.at >= BETWEEN_LOOKS]
