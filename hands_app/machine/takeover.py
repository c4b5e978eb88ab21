"""When a host counts as dead, and when nobody may be taken over (store rule S4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

APART: Final = timedelta(seconds=0.5)
"""Least time between the two looks that find a host's presence gone."""

AFTER_BREAK: Final = timedelta(seconds=2)
"""After its own connection broke a sweeper gives others this time to take their locks again."""

GAP: Final = timedelta(seconds=5)
"""After this long without a recorded scan owners renew first."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a host: whether its presence was gone, and its latest renewal."""

    host_id: str
    gone: bool
    renewed_at: datetime


@dataclass
class DeathWatch:
    """What one sweeper remembers of its earlier looks, on one unbroken connection."""

    _first: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)

    def forget(self) -> None:
        """Begin anew, because the connection broke or another swept in between."""
        self._first.clear()

    def look(self, looks: list[Look], now: datetime) -> list[str]:
        """Return the hosts found gone twice, apart in time, with no renewal in between."""
        gone = {look.host_id: look for look in looks if look.gone}
        self._first = {
            host_id: first
            for host_id, first in self._first.items()
            if host_id in gone and gone[host_id].renewed_at == first[1]
        }
        dead = [host_id for host_id, (seen_at, _) in self._first.items() if now - seen_at >= APART]
        for host_id, look in gone.items():
            self._first.setdefault(host_id, (now, look.renewed_at))
        return sorted(dead)


def resume_at(
    last_scan: datetime | None, resume: datetime | None, now: datetime, renewal: timedelta
) -> datetime | None:
    """Return until when nobody takes over, given the last recorded scan; None for no such time."""
    if last_scan is None or now - last_scan > GAP:
        return now + renewal
    return resume if resume is not None and resume > now else None
