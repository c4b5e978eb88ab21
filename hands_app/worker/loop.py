"""The loop of a Hands process: claim what is due, as far as slots are free, and carry it out."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import OwnershipLost
from hands_app.worker.rhythm import Rhythm
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.catalogue import Catalogue
    from hands_app.worker.attempt import Attempts
    from hands_app.worker.callbacks import Callbacks
    from hands_app.worker.keeper import Keeper
    from hands_app.worker.ports import Claim, HostProfile, Work

_log = logging.getLogger(__name__)


class WorkLoop:
    """Needs no broker: it looks at the ledger when woken and every `poll_seconds` (S20, R182).

    `after_child` hears of each claim here that was a child of a batch and is over.
    """

    def __init__(
        self,
        work: Work,
        attempts: Attempts,
        keeper: Keeper,
        catalogue: Catalogue,
        profile: HostProfile,
        callbacks: Callbacks,
        *,
        poll_seconds: float,
    ) -> None:
        self._work = work
        self._attempts = attempts
        self._keeper = keeper
        self._catalogue: Final = catalogue
        self._profile: Final = profile
        self._callbacks = callbacks
        self.after_child: Callable[[], None] = lambda: None
        self._running = 0
        self._changed = threading.Condition()
        self._is_draining = False
        self.is_hurried = False
        self._rhythm = Rhythm("hands-loop", self._step, poll_seconds)

    def start(self) -> None:
        """Begin to claim."""
        self._rhythm.start()

    def wake(self) -> None:
        """Look at the ledger now."""
        self._rhythm.wake()

    def drain(self) -> None:
        """Claim nothing more; what runs goes on (S24)."""
        self._is_draining = True
        self._rhythm.stop()

    def wait_until_idle(self, seconds: float | None, *, patiently: bool = True) -> bool:
        """Wait until no slot is taken; False when the time is up, or at once after `hurry`.

        What is not `patiently` waits all its time in a hurry too.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._running == 0 or (patiently and self.is_hurried), seconds
            )
            return self._running == 0

    def hurry(self) -> None:
        """End the patient waits."""
        with self._changed:
            self.is_hurried = True
            self._changed.notify_all()

    def _step(self) -> None:
        for claim in self._claim():
            self._begin(claim)

    def _claim(self) -> list[Claim]:
        if self._is_draining or self._free() == 0:
            return []
        try:
            return self._work.claim(
                self._keeper.host_id,
                self._profile.routes,
                self._catalogue.digests(),
                self._free(),
            )
        except OwnershipLost:
            self._keeper.enroll_anew()
            return []

    def _free(self) -> int:
        with self._changed:
            return self._profile.slots - self._running

    def _begin(self, claim: Claim) -> None:
        with self._changed:
            self._running += 1
        thread = threading.Thread(
            target=self._carry_out, args=(claim,), name=f"slot-{claim.execution_id}", daemon=True
        )
        thread.start()

    def _carry_out(self, claim: Claim) -> None:
        try:
            tool = self._catalogue.find(claim.binding.digest)
            if tool is not None:
                with self._callbacks.calling():
                    self._attempts.perform(claim, tool)
        except Exception as error:  # noqa: BLE001 - the outermost frame of the thread
            text = "%s ended without a record, recovery decides: %s"
            _log.error(text, claim.execution_id, trouble(error))
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
            if claim.batch_id is not None:
                self.after_child()
            self.wake()
