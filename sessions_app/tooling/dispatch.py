"""Dispatch: how a tool call leaves the house (S9, S20, R182).

An intent counts as possibly sent from its commit on. Here it really leaves: the outbox gives what
is due, each call becomes one envelope, and what the broker did not take comes again. Nothing here
is remembered: the outbox is the truth and any process may look at it, at any time.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import Unavailable
from hands_app.contract.faults import declare, faultpoint
from sessions_app.contract import errors as away
from sessions_app.tooling.commands import Commands, Unsendable

if TYPE_CHECKING:
    from sessions_app.ports import Executor
    from sessions_app.tooling.boxes import Delivery, Objects, Outbox, Questions

log = logging.getLogger(__name__)

BATCH: Final = 100
LOOK_SECONDS: Final = 1.0
_AWAY: Final = (Unavailable, away.Unavailable, away.Incompatible)

declare("hands.dispatch.before_send", "hands.dispatch.after_send")


class Dispatch:
    """Sends what is due. `counts` tell what became of it since this process began."""

    def __init__(
        self,
        outbox: Outbox,
        executor: Executor,
        namespace: str,
        objects: Objects = lambda: None,
        questions: Questions | None = None,
    ) -> None:
        """`namespace` is the deployment's; `questions` are for executors inside of the process."""
        self._questions = questions
        self._outbox = outbox
        self._executor = executor
        self._objects = objects
        self._commands = Commands(namespace, objects)
        self._is_shared = False
        self.sent = 0
        self.unconfirmed = 0
        self.unsendable = 0

    def tick(self) -> float:
        """Send all that is due; gives the seconds until the next look. For a thread of its own."""
        while self.due() == BATCH:
            pass
        for question in self._questions.take() if self._questions is not None else ():
            self._executor.send(question.route, self._commands.output(question), control=True)
        return LOOK_SECONDS

    def due(self, limit: int = BATCH) -> int:
        """Send one batch of what is due, the oldest first; gives its size. Raises Unavailable."""
        taken = self._outbox.take(limit)
        if taken and not self._is_shared:
            self._share()
        for delivery in taken:
            self._send(delivery)
        return len(taken)

    def _share(self) -> None:
        """Have the object store made before anything that may need it leaves: Hands makes none."""
        try:
            self._objects()
        except _AWAY as error:
            log.warning("the object store is not to be had, large results are cut: %s", error)
        else:
            self._is_shared = True

    def _send(self, delivery: Delivery) -> None:
        try:
            text = self._commands.envelope(delivery)
        except Unsendable as error:
            self._refuse(delivery, error)
            return
        except _AWAY as error:
            self.unconfirmed += 1
            log.warning("%s waits for the object store: %s", delivery.execution_id, error)
            return
        faultpoint("hands.dispatch.before_send")
        confirmed = self._executor.send(delivery.route, text, control=delivery.sent != "execute")
        faultpoint("hands.dispatch.after_send")
        self._count(delivery, confirmed=confirmed)

    def _refuse(self, delivery: Delivery, error: Unsendable) -> None:
        """Tell the model at once: waiting would not help."""
        self.unsendable += 1
        ended = self._outbox.cannot_send(delivery.execution_id, error.code, str(error))
        outcome = "ended as not executed" if ended else "left open, it may have been sent before"
        log.error("%s cannot be sent (%s): %s", delivery.execution_id, error, outcome)

    def _count(self, delivery: Delivery, *, confirmed: bool) -> None:
        if confirmed:
            self.sent += 1
            return
        self.unconfirmed += 1
        log.warning("%s of %s was not confirmed", delivery.sent, delivery.execution_id)
