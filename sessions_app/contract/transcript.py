"""A transcript as a neutral list: which calls each native message asks for, and which it answers.

The rule of law 8 stands here, for a Brain that is about to commit and for a repair afterwards: each
call has exactly one result, in place and in order, and each result has its call (I33).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from sessions_app.contract.errors import BrokenTranscript


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that a message holds: a call, a result, or anything else, which is `words`."""

    kind: Literal["call", "result", "words"]
    call_id: str = ""
    name: str = ""

    def __str__(self) -> str:
        """As operators read it; it quotes nothing that was said (law 10)."""
        named = f"{self.call_id} ({self.name})" if self.name else self.call_id
        return f"{self.kind} {named}".strip()


Message: TypeAlias = tuple[Mark, ...]
Waiting: TypeAlias = tuple[str, ...]
"""Ids of calls whose results come next, in order."""


class Passage(NamedTuple):
    """The messages of a journal entry, and the index of the history at which they begin."""

    at: int
    messages: tuple[Message, ...]


class Kept(NamedTuple):
    """A piece of a repaired history: a message as it is, or only these of its marks."""

    place: int
    marks: tuple[int, ...] | None = None


class Added(NamedTuple):
    """A piece of a repaired history: a result which says that the call was not executed."""

    call_id: str
    name: str


Piece: TypeAlias = Kept | Added


def after(waiting: Waiting, message: Message) -> Waiting:
    """Calls that wait for a result once this message is read; raises BrokenTranscript."""
    asked = tuple(mark.call_id for mark in message if mark.kind == "call")
    if asked:
        refuse_waiting(waiting)
        if len(set(asked)) < len(asked):
            msg = f"one reply asks for {', '.join(asked)}: an id twice"
            raise BrokenTranscript(msg)
        return asked
    for mark in message:
        waiting = _answered(waiting, mark)
    return waiting


def refuse_waiting(waiting: Waiting) -> None:
    """Raise BrokenTranscript when calls have no result and something else comes."""
    if waiting:
        msg = f"calls without a result: {', '.join(waiting)}"
        raise BrokenTranscript(msg)


def _answered(waiting: Waiting, mark: Mark) -> Waiting:
    if mark.kind != "result":
        refuse_waiting(waiting)
        return waiting
    if mark.call_id != next(iter(waiting), None):
        awaited = waiting[0] if waiting else "none"
        msg = f"a result of call {mark.call_id} where one of {awaited} is awaited"
        raise BrokenTranscript(msg)
    return waiting[1:]
