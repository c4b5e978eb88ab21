"""Native histories as neutral lists, and back: what the guard reads and what a repair writes.

Both kernels store messages as JSON; each brings a `Grammar` that knows where calls and results are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sessions_app.contract.status import CheckpointKind
from sessions_app.contract.transcript import Added, Passage
from sessions_app.harnesses import journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import EntryDraft, FrameDraft, Native
    from sessions_app.contract.transcript import Message, Piece
    from sessions_app.harnesses.envelope import Envelope
    from sessions_app.harnesses.journal import Progress


class Grammar(Protocol):
    """How one kernel writes calls and results. `stored` is a message as the journal holds it."""

    envelope: Envelope

    def progress(self, native: Native) -> Progress:
        """Where the newest checkpoint stands."""

    def marks(self, stored: Any) -> Message:  # noqa: ANN401 - private to the kernel
        """What the message holds, in its own order."""

    def only(self, stored: Any, marks: Sequence[int]) -> JsonValue:  # noqa: ANN401 - as above
        """The message with no more than these of its marks."""

    def not_executed(self, missing: Added) -> JsonValue:
        """A message with the result of a call that was not executed."""


class Transcripts:
    """What the guard and a repair ask of an adapter, by the grammar of its kernel."""

    grammar: Grammar

    def read(self, body: JsonValue) -> Passage:
        """What a journal entry asks for and answers."""
        at, messages = journal.messages_of(body)
        return Passage(at, tuple(self.grammar.marks(message) for message in messages))

    def history(self, native: Native) -> tuple[Message, ...]:
        """The history that the newest checkpoint contains."""
        return tuple(self.grammar.marks(message) for message in self._contained(native))

    def mend(
        self, native: Native, at: int, pieces: Sequence[Piece]
    ) -> tuple[EntryDraft, FrameDraft]:
        """The entry that puts the pieces in place of the history from `at` on, and its baseline."""
        stored = self._contained(native)
        messages = [self._piece(stored, piece) for piece in pieces]
        body = self.grammar.progress(native).body()
        frame = self.grammar.envelope.seal(body, CheckpointKind.BASELINE)
        return journal.items(at, messages), frame

    def _contained(self, native: Native) -> list[JsonValue]:
        if native.frame is None:
            return []
        return journal.contained(native, self.grammar.progress(native))

    def _piece(self, stored: Sequence[JsonValue], piece: Piece) -> JsonValue:
        if isinstance(piece, Added):
            return self.grammar.not_executed(piece)
        message = stored[piece.place]
        return message if piece.marks is None else self.grammar.only(message, piece.marks)
