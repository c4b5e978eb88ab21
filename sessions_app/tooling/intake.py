"""Intake: how what Hands tells of a call returns into the house (R184, R189, I30).

Whoever delivers an update may forget it once `receive` returned: it is committed, or it says
nothing, or it will be told again because the call's prefix lacks it.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import InvalidJson, Rejected
from hands_app.contract.messages import parse_update
from hands_app.contract.strict_json import ENVELOPE, canonical, loads_lenient
from sessions_app.tooling.commands import Commands
from sessions_app.tooling.early import Early

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from sessions_app.ports import Executor
    from sessions_app.tooling.boxes import Inbox

log = logging.getLogger(__name__)

UNREADABLE: Final = "unreadable"
UNREAD: Final = "unread"
_MENDABLE: Final = frozenset({"NUL", "SURROGATE"})
_SUSPICIOUS: Final = frozenset({"refused", "foreign", UNREAD})
NOT_TAKEN: Final = frozenset({UNREADABLE, UNREAD})
"""What is not acknowledged (R192)."""


class Intake:
    """Takes updates in, from any number of threads; `counts` has one entry for each outcome."""

    def __init__(self, inbox: Inbox, executor: Executor, namespace: str) -> None:
        """`namespace` is the deployment's, the prefix of its queues."""
        self._inbox = inbox
        self._executor = executor
        self._commands = Commands(namespace)
        self._early = Early()
        self.counts: Counter[str] = Counter()

    def receive(self, envelope: str) -> str:
        """Take one update in and say what became of it; committed when this returns.

        `applied`, `duplicate` (it says nothing new), `gap` (an earlier one is asked for), `late`
        (the call has ended), `refused` (not from the pool that was asked, or about another
        request), `foreign` (no such execution), `unread` (its body cannot be had now: told again),
        `unreadable`. The last two are not acknowledged. Only storage that is away raises:
        Unavailable, nothing was written, deliver it again.
        """
        try:
            update = _parse(envelope)
            outcome = self._take(update, len(envelope))
        except Rejected as error:
            log.warning("an update was rejected: %s", error)
            outcome = UNREADABLE
        self.counts[outcome] += 1
        return outcome

    def _take(self, update: Update, size: int) -> str:
        with self._early.alone(update.execution_id):
            receipt = self._inbox.take(update)
            if receipt.taken == "applied":
                self._follow(update.execution_id, receipt.position)
            must_ask = receipt.taken == "gap" and self._early.keep(update, size)
        if must_ask:
            self._ask(update, receipt.position)
        if receipt.taken in _SUSPICIOUS:
            log.warning("update %s is %s: %s", update.event_id, receipt.taken, update.execution_id)
        return receipt.taken

    def _follow(self, execution_id: str, position: int) -> None:
        """Apply what came too early and is next now."""
        while (update := self._early.next(execution_id, position)) is not None:
            try:
                receipt = self._inbox.take(update)
            except Rejected as error:
                log.warning("an update was rejected: %s", error)
                return
            self.counts[receipt.taken] += 1
            position = receipt.position

    def _ask(self, update: Update, position: int) -> None:
        """Have the gap filled at once; should no answer come, dispatch asks again."""
        question = self._commands.query(
            update.execution_id, update.route, update.request_digest, position
        )
        self._executor.send(update.route, question, control=True)


def _parse(envelope: str) -> Update:
    """Read an envelope; only what tools may put into texts is mended, with a marker (C16)."""
    try:
        return parse_update(envelope)
    except InvalidJson as error:
        if error.reason not in _MENDABLE:
            raise
    return parse_update(canonical(loads_lenient(envelope, limits=ENVELOPE).value))
