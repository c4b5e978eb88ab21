"""The output of one attempt on its way to the ledger: bounded, and cut into few commits."""

from __future__ import annotations

from typing import Final

from hands_app.contract.output import Gap
from hands_app.machine.output import BATCH_BYTES, Written, unknown_loss

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 2.0
_FIRST_SILENCE: Final = 0.5
_LONGEST_SILENCE: Final = 16.0
_EAGER_BYTES: Final = BATCH_BYTES // 4


class Recorder:
    """Bytes that wait, and the times of the next commit and of the next word to the Brain.

    The first bytes are due at once. Then a commit comes after 0.25 s, later after up to 2 s, or as
    soon as 256 KiB wait; the Brain hears of it after 0.5 s, later after up to 16 s, and at the end.
    Its caller lets one thread in at a time.
    """

    def __init__(self, start: int, most: int) -> None:
        """`start`: where earlier attempts end; `most`: where nothing is kept any more."""
        self._start = start
        self._room = max(0, most - start)
        self._waiting = bytearray()
        self._lost = 0
        self._sent: Written | None = None
        self._is_new = True
        self._untold = False
        self._is_left = False
        self._due_at = self._tell_at = 0.0
        self._pause = _FIRST_PAUSE
        self._silence = _FIRST_SILENCE

    def add(self, data: bytes) -> bool:
        """Keep what the bound allows and count the rest; True for the first of the attempt."""
        kept = data[: self._room]
        self._room -= len(kept)
        self._lost += len(data) - len(kept)
        self._waiting += kept
        is_first, self._is_new = self._is_new, False
        return is_first and bool(kept)

    def due(self, now: float) -> Written | None:
        """What to commit now; the same again until it is `recorded` (S7)."""
        if self._sent is None and now >= min(self.next_at(), default=now + 1):
            told = now >= self._tell_at
            self._sent = self._take(told=told)
            if told:
                self._tell_at = now + self._silence
                self._silence = min(self._silence * 2, _LONGEST_SILENCE)
            self._due_at = now + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return self._sent

    def next_at(self) -> list[float]:
        """When something is due, by the clock of `due`; empty when nothing waits."""
        if self._sent is not None or len(self._waiting) >= _EAGER_BYTES:
            return [0.0]
        if self._waiting:
            return [self._due_at]
        return [self._tell_at] if self._untold else []

    def recorded(self, written: Written) -> None:
        """Go on behind what the ledger has now."""
        self._start = written.end
        self._untold = not written.told
        self._sent = None

    def rest(self, *, runs_on: bool) -> Written | None:
        """What to commit before the end, also until it is `recorded`; None when all is on record.

        `runs_on`: the tool goes on, and nobody will know what it writes.
        """
        if self._sent is not None:
            return self._sent
        if self._waiting:
            self._sent = self._take(told=False)
        elif self._lost:
            self._sent = Written(self._start, gap=Gap.LIMIT, lost=self._lost, told=False)
            self._lost = 0
        elif runs_on and self._start > 0 and not self._is_left:
            self._sent = unknown_loss(self._start, Gap.LATE)
            self._is_left = True
        return self._sent

    def drop(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        self._lost, self._sent, self._untold = 0, None, False

    def _take(self, *, told: bool) -> Written:
        body = bytes(self._waiting[:BATCH_BYTES])
        del self._waiting[:BATCH_BYTES]
        return Written(self._start, body, told=told)
