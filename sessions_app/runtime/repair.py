"""What is wrong in a Thread's native history, and its repair by an operator."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import ndiff
from typing import TYPE_CHECKING

from sessions_app import harnesses
from sessions_app.contract.decisions import checked_actor, checked_reason
from sessions_app.machine import transcript
from sessions_app.machine.transcript import Mending
from sessions_app.store import repair as store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.backend import Native
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.transcript import Message


@dataclass(frozen=True, slots=True)
class RepairView:
    """What was found and what mends it: calls and results by id, and nothing that was said."""

    key: ThreadKey
    faults: tuple[str, ...]
    diff: tuple[str, ...]
    repaired: bool = False


def look(key: ThreadKey) -> RepairView:
    """What a repair would change; writes nothing. Raises what `repair` raises."""
    seen = _Decision(key)
    store.repair(key, seen.look)
    return RepairView(key, seen.faults, seen.diff)


def repair(key: ThreadKey, actor: str, reason: str) -> RepairView:
    """Mend the history in one audited transaction; one that is whole stays untouched.

    Raises Invalid, NotFound, Conflict while the Thread is owned or its first Turn has begun, and
    Incompatible where its harness or the stored format is not known here.
    """
    seen = _Decision(key, checked_actor(actor), checked_reason(reason))
    repaired = store.repair(key, seen.mend)
    return RepairView(key, seen.faults, seen.diff, repaired)


class _Decision:
    """Made inside the transaction, which may run again; the last answer counts."""

    def __init__(self, key: ThreadKey, actor: str = "", reason: str = "") -> None:
        self.key = key
        self.faults: tuple[str, ...] = ()
        self.diff: tuple[str, ...] = ()
        self._actor, self._reason = actor, reason

    def look(self, native: Native) -> None:
        self.mend(native)

    def mend(self, native: Native) -> Mending | None:
        self.faults = self.diff = ()
        if native.frame is None:
            return None
        adapter = harnesses.adapter(native.frame.harness)
        before = adapter.history(native)
        found = transcript.repair(before)
        if found is None:
            return None
        self.faults = found.faults
        self.diff = _diff(before, transcript.after_repair(before, found))
        entry, frame = adapter.mend(native, found.at, found.pieces)
        return Mending(self._actor, self._reason, found.faults, entry, frame)


def _diff(before: Sequence[Message], after: Sequence[Message]) -> tuple[str, ...]:
    lines = ndiff(_lines(before), _lines(after))
    return tuple(line for line in lines if not line.startswith("?"))


def _lines(messages: Sequence[Message]) -> list[str]:
    return [", ".join(map(str, message)) for message in messages]
