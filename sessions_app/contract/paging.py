"""Pages and cursors.

A cursor is opaque: Session, sequence and the store's incarnation (4.1 rows 16, 17; S23).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from sessions_app.contract.errors import CursorExpired, Invalid

T = TypeVar("T")
MAX_PAGE: Final = 1000
_LARGEST: Final = 2**53
"""Of all numbers that JSON keeps; no timeline is as long."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page. `next_cursor` is None on the last page of a list; event pages always carry one."""

    items: tuple[T, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class EventPage(Page[T]):
    """A page of events.

    `through` is the highest sequence examined, `last_sequence` the Session's newest (R093).
    """

    through: int = 0
    last_sequence: int = 0


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position in one Session's timeline."""

    session_pk: str
    sequence: int
    incarnation: str

    def encode(self) -> str:
        """Opaque text form."""
        raw = json.dumps([self.session_pk, self.sequence, self.incarnation], separators=(",", ":"))
        return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """Parse; raises Invalid for anything that `encode` did not make."""
        try:
            raw = json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
            session_pk, sequence, incarnation = raw
        except (ValueError, binascii.Error, TypeError, UnicodeError):
            session_pk = sequence = incarnation = None
        if not (
            isinstance(session_pk, str)
            and type(sequence) is int
            and 0 <= sequence <= _LARGEST
            and isinstance(incarnation, str)
        ):
            msg = "cursor is not one of ours; take it from a page, or leave it out"
            raise Invalid(msg)
        return cls(session_pk, sequence, incarnation)

    def check(
        self, session_pk: str, incarnation: str, last_sequence: int, pruned_through: int
    ) -> None:
        """Raise Invalid for another Session's cursor.

        CursorExpired for one that can no longer be followed.
        """
        if self.session_pk != session_pk:
            msg = "cursor belongs to another Session"
            raise Invalid(msg)
        if (
            self.incarnation != incarnation
            or self.sequence > last_sequence
            or self.sequence < pruned_through
        ):
            msg = (
                f"cursor at {self.sequence} has expired; events from "
                f"{pruned_through + 1} on exist: take a snapshot"
            )
            raise CursorExpired(msg)


def checked_limit(limit: object) -> int:
    """Return `limit` if it is a whole number from 1 to 1000, else raise Invalid."""
    if isinstance(limit, int) and 1 <= limit <= MAX_PAGE:
        return limit
    msg = f"limit {limit!r:.80} must be 1 to {MAX_PAGE}"
    raise Invalid(msg)
