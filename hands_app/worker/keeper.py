"""Keeps a process known as alive: its presence, its Host row, the leases of what runs in it.

It has a thread and a connection of its own, so that no busy tool can make a lease end (S15).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import new_id
from hands_app.worker.ports import HostCard
from hands_app.worker.rhythm import Rhythm

if TYPE_CHECKING:
    from hands_app.worker.live import LiveClaims
    from hands_app.worker.ports import HostProfile, Hosts, Presence, Work

LOOK_SECONDS: Final = 0.25
"""Between two looks at the own lock: it is retaken before anybody may call this host dead."""
_log = logging.getLogger(__name__)


class Keeper:
    """Renews every `renew_seconds`; looks at its lock and for cancel wishes four times a second."""

    def __init__(
        self,
        hosts: Hosts,
        presence: Presence,
        work: Work,
        live: LiveClaims,
        profile: HostProfile,
        *,
        renew_seconds: float,
    ) -> None:
        self._hosts = hosts
        self._presence = presence
        self._work = work
        self._live = live
        self._profile: Final = profile
        self._renew_seconds = renew_seconds
        self._renew_at = 0.0
        self._lock = threading.RLock()
        self._rhythm = Rhythm("hands-keeper", self._step, min(LOOK_SECONDS, renew_seconds))
        self.host_id = ""

    def start(self) -> None:
        """Take the presence, write the Host row, begin to renew; raises Unavailable."""
        self.enroll_anew()
        self._rhythm.start()

    def enroll_anew(self) -> None:
        """Become a host with a fresh id: at the start, and when others held the old for dead."""
        with self._lock:
            host_id = new_id("host_")
            self._presence.drop()
            card = HostCard(
                host_id=host_id,
                profile=self._profile,
                process_id=os.getpid(),
                presence=self._presence.take(host_id),
            )
            self._hosts.enroll(card)
            self.host_id = host_id
            self._renew_at = time.monotonic() + self._renew_seconds

    def drain(self) -> None:
        """Tell the others that this host claims nothing more."""
        self._hosts.drain(self.host_id)

    def close(self) -> None:
        """Stop; a host with nothing running says goodbye, another keeps lease and lock (S24)."""
        self._rhythm.stop()
        if len(self._live) == 0 and self.host_id:
            self._hosts.close(self.host_id)
            self._presence.drop()

    def _step(self) -> None:
        with self._lock:
            if not self._presence.is_held():
                self._be_present_again()
            if time.monotonic() >= self._renew_at:
                self._renew()
        tokens = self._live.tokens()
        if tokens:
            self._live.wish_cancel(self._work.cancel_wishes(tokens))

    def _be_present_again(self) -> None:
        """Retake a lock that the database server dropped, and renew at once (S4)."""
        presence = self._presence.take(self.host_id)
        self._hosts.present_again(self.host_id, presence)
        self._renew_at = 0.0

    def _renew(self) -> None:
        tokens = self._live.tokens()
        renewed = self._hosts.renew(self.host_id, tokens)
        self._renew_at = time.monotonic() + self._renew_seconds
        lost = renewed.superseded & self._live.tokens()
        if renewed.host_is_lost:
            _log.warning("%s was held for dead; it stops its work and begins anew", self.host_id)
            lost = tokens
            self.enroll_anew()
        if lost:
            self._live.lose(lost)
