"""The journal as adapters use it: each entry puts native messages at a place of the history (C40).

An entry says at which index its messages begin, so folding an entry again, or one that replaces the
tail (a compaction, a last request that grew), needs no rule of its own. An outcome may be stored
without the messages that it answers, when its Run fails right after; then it begins behind the end
and is left aside, and whoever replays it puts it into the history by an entry of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from hands_app.contract.strict_json import JsonValue
from sessions_app.contract.backend import Entry, EntryDraft, Native
from sessions_app.contract.errors import Incompatible
from sessions_app.contract.status import EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


FORMAT: Final = 1
MAIN: Final = "main"


class Progress(BaseModel):
    """Where a Turn stands: the body of a checkpoint. Counters belong to one Turn (R062, R063)."""

    model_config = ConfigDict(extra="forbid")

    turn: str
    ordinals: dict[str, int] = Field(default_factory=dict)  # newest outcome of each logical path
    finished: bool = False
    result: JsonValue = None  # of a finished Turn that a late steer may still lead on

    @property
    def round(self) -> int:
        """Ordinal of the newest outcome of the main loop; 0 before the first."""
        return self.ordinals.get(MAIN, 0)

    def answered(self, ordinal: int, path: str = MAIN) -> None:
        """Say that the history contains this outcome."""
        self.ordinals[path] = ordinal
        self.reopen()

    def reopen(self) -> None:
        """Say that something was added behind the answer: the Turn goes on."""
        self.finished, self.result = False, None

    def finish(self, result: JsonValue) -> None:
        """Say that the history ends with the Turn's answer."""
        self.finished, self.result = True, result

    def body(self) -> JsonValue:
        """As stored in a frame."""
        stored: JsonValue = self.model_dump(mode="json")
        return stored


def body(at: int, messages: Sequence[JsonValue]) -> JsonValue:
    """Body of an entry whose messages begin at index `at` of the history."""
    return {"format": FORMAT, "at": at, "messages": list(messages)}


def items(at: int, messages: Sequence[JsonValue]) -> EntryDraft:
    """An entry of native history that is no model outcome."""
    return EntryDraft(kind=EntryKind.ITEMS, body=body(at, messages))


def messages_of(stored: JsonValue) -> tuple[int, list[JsonValue]]:
    """Index and messages of a body; raises Incompatible for an unknown format."""
    match stored:
        case {"format": 1, "at": int() as at, "messages": list() as messages}:
            return at, messages
        case _:
            msg = f"a journal entry is not of format {FORMAT}"
            raise Incompatible(msg)


def contained(native: Native, progress: Progress) -> list[JsonValue]:
    """The history that the newest checkpoint contains."""
    position = native.frame.position if native.frame is not None else 0
    entries = [entry for entry in native.entries if entry.position <= position]
    return _fold(entry for entry in entries if not _unapplied(entry, progress))


def everything(native: Native) -> list[JsonValue]:
    """The history with outcomes that no checkpoint contains yet: what a settled frame will hold."""
    return _fold(native.entries)


def last_round(native: Native, turn_id: str) -> int:
    """Ordinal of the newest stored outcome of this Turn's main loop; 0 when there is none."""
    stored = [e for e in native.entries if _is_outcome(e) and e.turn_id == turn_id]
    return max((entry.ordinal or 0 for entry in stored), default=0)


def _fold(entries: Iterable[Entry]) -> list[JsonValue]:
    history: list[Any] = []
    for entry in entries:
        if entry.path != MAIN:
            continue
        at, messages = messages_of(entry.body)
        if at <= len(history):
            history[at:] = messages
        elif entry.kind != EntryKind.OUTCOME:
            msg = f"journal entry {entry.position} begins behind the end of the history"
            raise Incompatible(msg)
    return history


def _unapplied(entry: Entry, progress: Progress) -> bool:
    """Whether this outcome was stored together with a frame that does not apply it yet."""
    ahead = (entry.ordinal or 0) > progress.ordinals.get(entry.path, 0)
    return entry.kind == EntryKind.OUTCOME and entry.turn_id == progress.turn and ahead


def _is_outcome(entry: Entry) -> bool:
    return entry.kind == EntryKind.OUTCOME and entry.path == MAIN
