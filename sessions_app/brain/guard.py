"""The transcript guard: no commit stores, and no request sends, a history that breaks law 8 (I33).

It follows the journal as the harness does and reads each message once: a step costs what it adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import BrokenTranscript
from sessions_app.contract.status import EntryKind
from sessions_app.contract.transcript import after, refuse_waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Entry, EntryDraft
    from sessions_app.contract.transcript import Message, Passage, Waiting

MAIN = "main"


class Guard:
    """Knows for each message of the history which calls wait for a result behind it."""

    def __init__(
        self, read: Callable[[JsonValue], Passage], history: Iterable[Message] = ()
    ) -> None:
        """`read` is the harness's; `history` is what it begins with."""
        self._read = read
        self._waiting: list[Waiting] = [()]  # before the first message, and behind each
        self._breach: tuple[int, BrokenTranscript] | None = None
        self._follow(history)

    def take(self, entry: Entry | EntryDraft) -> None:
        """Follow one more entry; an outcome that begins behind the end is left aside."""
        if entry.path != MAIN:
            return
        at, messages = self._read(entry.body)
        if at >= len(self._waiting) and entry.kind == EntryKind.OUTCOME:
            return
        del self._waiting[at + 1 :]
        if self._breach is not None and self._breach[0] >= at:
            self._breach = None
        self._follow(messages)

    def check_all(self, entries: Iterable[Entry | EntryDraft]) -> None:
        """Take these entries and raise for a history that is not whole behind them."""
        for entry in entries:
            self.take(entry)
        self.check(whole=True)

    def check(self, *, whole: bool = False) -> None:
        """Raise BrokenTranscript for a broken history; `whole`: for one with open calls too."""
        if self._breach is not None:
            place, why = self._breach
            msg = f"message {place} of the history: {why}; see `durable repair-transcript`"
            raise BrokenTranscript(msg)
        if whole:
            refuse_waiting(self._waiting[-1])

    def _follow(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._waiting.append(self._next(message))

    def _next(self, message: Message) -> Waiting:
        try:
            return after(self._waiting[-1], message)
        except BrokenTranscript as why:
            if self._breach is None:
                self._breach = (len(self._waiting) - 1, why)
            return ()
