"""Repair of a transcript: what is wrong in an imported or damaged history, and what mends it (I33).

A result goes behind the newest call of its name that has none; what is left over is taken out, and
a call without a result gets one that says that it was not executed. Words stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hands_app.contract.strict_json import digest
from sessions_app.contract.errors import BrokenTranscript, Conflict
from sessions_app.contract.status import CheckpointKind
from sessions_app.contract.transcript import Added, Kept, Mark, Message, Piece, after
from sessions_app.models import AuditEntry, Checkpoint, JournalEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sessions_app.contract.backend import EntryDraft, FrameDraft
    from sessions_app.machine.change import Change
    from sessions_app.models import Thread, Turn

Place: TypeAlias = tuple[int, int]
"""A message, and a mark in it."""


@dataclass(frozen=True, slots=True)
class Repair:
    """From message `at` on the history becomes `pieces`; `faults` say why, in words."""

    at: int
    pieces: tuple[Piece, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mending:
    """Who mends, why, and the native form of what comes in place."""

    actor: str
    reason: str
    faults: tuple[str, ...]
    entry: EntryDraft
    frame: FrameDraft


def repair(messages: Sequence[Message]) -> Repair | None:
    """What mends this history; None for one that a model takes as it is.

    Raises Conflict for a reply that uses an id twice: nothing says which result is whose.
    """
    return _Repairing(messages).plan()


def after_repair(messages: Sequence[Message], mended: Repair) -> list[Message]:
    """The history as it will be."""
    pieces = [_marks(messages, piece) for piece in mended.pieces]
    return [*messages[: mended.at], *pieces]


def refuse_busy(thread: Thread, head: Turn | None) -> None:
    """Raise Conflict while somebody may be at work on this very history."""
    if thread.lease_token is not None:
        msg = f"thread {thread.thread_id} is owned; repair it when its turn has ended"
        raise Conflict(msg)
    if head is not None and head.started_at is not None:
        msg = (
            f"thread {thread.thread_id} has the unfinished turn {head.id} ({head.status}); "
            "let it end or cancel it, then repair"
        )
        raise Conflict(msg)


def mend(change: Change, thread: Thread, newest: Checkpoint, asked: Mending) -> None:
    """Add the mended history as a new entry with a baseline that contains it, and say who did it.

    Nothing is overwritten: what was there stays in the journal. The audit entry stands in the
    place of the lease under which an owner writes.
    """
    thread.journal_position += 1
    thread.checkpoint_position = thread.journal_position
    audit = AuditEntry(
        id=change.new_id("aud_"),
        session_id=thread.session_id,
        actor=asked.actor,
        action="repair-transcript",
        target=thread.id,
        reason=asked.reason,
        before={"checkpoint": newest.ordinal, "faults": list(asked.faults)},
        after={"checkpoint": newest.ordinal + 1, "position": thread.journal_position},
        at=change.now,
    )
    shared = {
        "session_id": thread.session_id,
        "thread": thread,
        "turn_id": newest.turn_id,
        "position": thread.journal_position,
        "token": audit.id,
        "at": change.now,
    }
    entry = JournalEntry(
        id=change.new_id("jrn_"), kind=asked.entry.kind, body=asked.entry.body, **shared
    )
    frame = Checkpoint(
        id=change.new_id("chk_"),
        ordinal=newest.ordinal + 1,
        kind=CheckpointKind.BASELINE,
        format=asked.frame.format,
        harness=asked.frame.harness,
        framework=asked.frame.framework,
        definition=thread.definition,
        version=thread.version,
        state_version=thread.state_version,
        body=asked.frame.body,
        digest=digest(asked.frame.body),
        **shared,
    )
    change.add(audit, entry, frame)


class _Repairing:
    """One history, its calls matched with results."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._source: dict[Place, Place] = {}  # of a call: its result
        self._moved: set[Place] = set()  # results that do not stay where they are
        self._faults: list[str] = []
        self._match()

    def plan(self) -> Repair | None:
        pieces = [piece for place in range(len(self._messages)) for piece in self._pieces(place)]
        if not self._faults:
            return None
        same = next(at for at, piece in enumerate([*pieces, None]) if piece != Kept(at))
        return Repair(same, tuple(pieces[same:]), tuple(self._faults))

    def _match(self) -> None:
        """Give each result to the newest call of its id before it, the first result only."""
        newest: dict[str, Place] = {}
        for place, mark in self._marks():
            if mark.kind == "call":
                newest[mark.call_id] = place
            elif mark.kind == "result":
                self._give(newest.get(mark.call_id), place, mark)

    def _give(self, call: Place | None, place: Place, mark: Mark) -> None:
        if call is not None and call not in self._source:
            self._source[call] = place
            return
        what = "a result that no call asked for" if call is None else "a second result"
        self._faults.append(f"message {place[0]}: {what}, {mark.call_id}")
        self._moved.add(place)

    def _pieces(self, place: int) -> Iterator[Piece]:
        """What becomes of a message, and of the results that belong behind it."""
        message = self._messages[place]
        if any(mark.kind == "call" for mark in message):
            yield Kept(place)
            if not self._is_in_order(place):
                yield from self._results(place)
            return
        left = tuple(n for n in range(len(message)) if (place, n) not in self._moved)
        if len(left) == len(message):
            yield Kept(place)
        elif left:
            yield Kept(place, left)

    def _results(self, place: int) -> Iterator[Piece]:
        calls = [(place, n) for n, mark in enumerate(self._messages[place]) if mark.kind == "call"]
        if all(call in self._source for call in calls):
            self._faults.append(f"message {place}: its results do not follow it in call order")
        for call in calls:
            mark, source = self._messages[place][call[1]], self._source.get(call)
            if source is None:
                self._faults.append(f"message {place}: {mark} has no result")
                yield Added(mark.call_id, mark.name)
            else:
                self._moved.add(source)
                yield Kept(source[0], (source[1],))

    def _is_in_order(self, place: int) -> bool:
        """Whether the results of this reply follow it as they should."""
        try:
            waiting = after((), self._messages[place])
        except BrokenTranscript as twice:
            msg = f"message {place}: {twice}; no repair is known for it"
            raise Conflict(msg) from None
        for message in self._messages[place + 1 :]:
            if not waiting:
                return True
            try:
                waiting = after(waiting, message)
            except BrokenTranscript:
                return False
        return not waiting

    def _marks(self) -> Iterator[tuple[Place, Mark]]:
        for place, message in enumerate(self._messages):
            for number, mark in enumerate(message):
                yield (place, number), mark


def _marks(messages: Sequence[Message], piece: Piece) -> Message:
    if isinstance(piece, Added):
        return (Mark("result", piece.call_id),)
    message = messages[piece.place]
    return message if piece.marks is None else tuple(message[number] for number in piece.marks)
