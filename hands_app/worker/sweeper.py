"""Finds what nobody looks after, dead hosts and their executions, and settles it (S4, S20)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import Unavailable
from hands_app.machine.takeover import AFTER_BREAK, DeathWatch, Look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from hands_app.contract.messages import Update
    from hands_app.worker.keeper import Keeper
    from hands_app.worker.live import LiveClaims
    from hands_app.worker.ports import Hosts, Orphans, Presence, SweepTurn

_BATCH: Final = 100
_log = logging.getLogger(__name__)


class Sweeper:
    """One host of a pool sweeps at a time; `sweep` is one look at everything."""

    def __init__(
        self,
        hosts: Hosts,
        presence: Presence,
        orphans: Orphans,
        keeper: Keeper,
        live: LiveClaims,
        *,
        tell: Callable[[Sequence[Update]], None],
        wake: Callable[[], None],
    ) -> None:
        self._hosts = hosts
        self._presence = presence
        self._orphans = orphans
        self._keeper = keeper
        self._live = live
        self._tell = tell
        self._wake = wake
        self._watch = DeathWatch()
        self._taken = 0
        self._shaken_until: datetime | None = None
        self.settled = 0

    def sweep(self) -> int:
        """Take over from the dead if it is this host's turn; return how much was settled."""
        turn = self._hosts.sweep_turn(self._keeper.host_id)
        if turn is None or turn.is_new:
            self._watch.forget()
        if turn is None:
            return 0
        self._mark_the_dead(turn)
        settled = sum(
            self._settle(execution_id, turn)
            for execution_id in self._orphans.find(_BATCH, in_gap=turn.in_gap)
        )
        self.settled += settled
        if settled:
            _log.info("settled %d executions without an owner", settled)
            self._wake()
        return settled

    def _mark_the_dead(self, turn: SweepTurn) -> None:
        """Mark hosts found gone twice; after an outage of the database's server nobody is."""
        if self._is_shaken(turn.now):
            return
        others = [host for host in self._hosts.living() if host.host_id != self._keeper.host_id]
        try:
            gone = self._presence.are_gone([host.presence for host in others])
        except Unavailable:
            self._watch.forget()
            raise
        looks = [Look(host.host_id, host.presence in gone, host.renewed_at) for host in others]
        dead = self._watch.look(looks, turn.now)
        if dead and (self._presence.proves_death or not turn.in_gap):
            _log.warning("dead: %s", ", ".join(dead))
            self._hosts.mark_lost(dead)

    def _is_shaken(self, now: datetime) -> bool:
        """Whether the own lock had to be taken again: the others may still be about to (S4)."""
        if self._presence.taken != self._taken:
            self._watch.forget()
            if self._taken and not self._presence.proves_death:
                self._shaken_until = now + AFTER_BREAK
            self._taken = self._presence.taken
        return self._shaken_until is not None and now < self._shaken_until

    def _settle(self, execution_id: str, turn: SweepTurn) -> bool:
        told = self._orphans.settle(execution_id, self._live.tokens(), in_gap=turn.in_gap)
        self._tell(told.updates)
        return told.outcome
