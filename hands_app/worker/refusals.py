"""What a host would not do, counted and kept for operators; writing it down is never urgent.

Nothing of a message's content is kept: a stable reason, and names that its form allows (law 10).
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import (
    Forbidden,
    ForeignNamespace,
    InvalidEnvelope,
    InvalidJson,
    Unavailable,
    WrongRoute,
)
from hands_app.contract.strict_json import clean

if TYPE_CHECKING:
    from hands_app.contract.errors import Rejected
    from hands_app.worker.ports import RefusalBook

RECENT: Final = 10
"""Refusals of one reason and host of which more than the count is kept."""
_DETAIL: Final = 200


class Reason(StrEnum):
    """Why a command was refused, or did nothing."""

    NO_TASK = "NO_TASK"
    """Something in the queue that is no task of Hands."""
    UNDECODABLE = "UNDECODABLE"
    """No strict JSON."""
    TOO_LARGE = "TOO_LARGE"
    """More than an envelope may hold, or arguments in a store that is not seen here."""
    INVALID = "INVALID"
    """JSON, but no envelope of this version."""
    WRONG_DIGEST = "WRONG_DIGEST"
    """The content is not what its digest names (T21)."""
    FOREIGN_NAMESPACE = "FOREIGN_NAMESPACE"
    """Of another deployment (T22)."""
    WRONG_ROUTE = "WRONG_ROUTE"
    """For another pool."""
    FORBIDDEN = "FORBIDDEN"
    """This worker's policy says no (R181)."""
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    """Nobody here has such a tool; it is admitted and waits for a host that has (C47)."""
    OTHER_BINDING = "OTHER_BINDING"
    """The tool is known here, but not this version of it; it waits likewise."""
    CONFLICT = "CONFLICT"
    """The identity is known with other content (T21)."""
    TOO_LATE = "TOO_LATE"
    """It came after its `not_after` (S8)."""
    CANCELLED = "CANCELLED"
    """A cancel came before it (R185)."""
    REPEATED = "REPEATED"
    """Known already: told again what there is, nothing runs twice. Ordinary on a broker."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One refusal; `execution_id` is empty where none could be read."""

    reason: Reason
    execution_id: str = ""
    detail: str = ""


@dataclass(slots=True)
class Noted:
    """What is to be written down of one reason: how many, and the last of them."""

    reason: Reason
    count: int = 0
    recent: list[Refused] = field(default_factory=list)


class Refusals:
    """Takes refusals in without waiting, however many there are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Reason, Noted] = {}
        self.counts: Counter[Reason] = Counter()

    def note(self, refused: Refused) -> None:
        """Count one."""
        with self._lock:
            self.counts[refused.reason] += 1
            self._add(Noted(refused.reason, 1, [refused]))

    def write_to(self, book: RefusalBook, host_id: str) -> None:
        """Write down what is new, and keep for later what cannot be; raises Unavailable."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        if not taken:
            return
        try:
            book.write(host_id, list(taken.values()))
        except Unavailable:
            with self._lock:
                newer, self._waiting = self._waiting, taken
                for noted in newer.values():
                    self._add(noted)
            raise

    def _add(self, noted: Noted) -> None:
        known = self._waiting.setdefault(noted.reason, Noted(noted.reason))
        known.count += noted.count
        known.recent = [*known.recent, *noted.recent][-RECENT:]


def of_error(error: Rejected) -> Refused:
    """Return what an error at the door says, without anything of the message's content."""
    if isinstance(error, InvalidJson):
        reason = Reason.TOO_LARGE if error.reason == "SIZE" else Reason.UNDECODABLE
        return Refused(reason, detail=error.reason)
    if isinstance(error, InvalidEnvelope):
        reason = Reason.WRONG_DIGEST if "request_digest" in error.kinds else Reason.INVALID
        return Refused(reason, detail=_short(", ".join(error.kinds)))
    for kind, why in _BY_ERROR:
        if isinstance(error, kind):
            return Refused(why, detail=_short(str(error)))
    return Refused(Reason.INVALID, detail=error.code)


def _short(text: str) -> str:
    return str(clean(text[:_DETAIL]).value)


_BY_ERROR: Final = (
    (ForeignNamespace, Reason.FOREIGN_NAMESPACE),
    (WrongRoute, Reason.WRONG_ROUTE),
    (Forbidden, Reason.FORBIDDEN),
)
