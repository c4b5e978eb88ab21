"""The journal: history is the fold of what the newest checkpoint contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import Entry, Frame, Native
from sessions_app.contract.errors import Incompatible
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import CheckpointKind, EntryKind
from sessions_app.harnesses import journal
from sessions_app.harnesses.journal import Progress
from tests.covers import covers

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue


def _items(position: int, at: int, *messages: JsonValue) -> Entry:
    return Entry(position, EntryKind.ITEMS, "turn", journal.body(at, messages))


def _outcome(position: int, at: int, ordinal: int, message: JsonValue, path: str = "main") -> Entry:
    body = journal.body(at, [message])
    return Entry(position, EntryKind.OUTCOME, "turn", body, path, ordinal, "sha256:")


def _native(position: int, *entries: Entry) -> Native:
    key = DefinitionKey("a", "1")
    frame = Frame(position, CheckpointKind.BOUNDARY, 1, "k", "k 1.0", key, {}, "sha256:")
    return Native({}, frame, entries, ())


def test_entries_up_to_the_checkpoint_are_the_history() -> None:
    """What stands above it is not applied yet."""
    native = _native(2, _items(1, 0, "u"), _outcome(2, 1, 1, "a"), _outcome(3, 2, 2, "b"))

    assert journal.contained(native, Progress(turn="turn", ordinals={"main": 1})) == ["u", "a"]


def test_an_outcome_stored_with_an_older_frame_is_not_history() -> None:
    """The counter of the frame says what it applies, whatever its position contains."""
    native = _native(2, _items(1, 0, "u"), _outcome(2, 1, 1, "a"))

    assert journal.contained(native, Progress(turn="turn")) == ["u"]


def test_an_entry_replaces_the_tail_that_it_begins_in() -> None:
    """A request that grew, or a compaction, needs no copy of what stands before."""
    native = _native(2, _items(1, 0, "u", "draft", "more"), _items(2, 1, "final"))

    assert journal.contained(native, Progress(turn="turn")) == ["u", "final"]


def test_an_outcome_without_its_request_is_left_aside() -> None:
    """Its replay puts it in place by an entry of its own."""
    native = _native(3, _outcome(1, 1, 1, "a"), _items(2, 0, "u"), _items(3, 1, "a"))

    assert journal.contained(native, Progress(turn="turn", ordinals={"main": 1})) == ["u", "a"]


def test_items_behind_the_end_are_a_gap() -> None:
    """A journal with a hole is refused, not guessed."""
    with pytest.raises(Incompatible, match="behind the end"):
        journal.contained(_native(1, _items(1, 5, "u")), Progress(turn="turn"))


def test_side_calls_are_no_part_of_the_history() -> None:
    """Only the main loop's outcomes are."""
    native = _native(2, _items(1, 0, "u"), _outcome(2, 1, 1, "side", path="summary"))
    progress = Progress(turn="turn", ordinals={"summary": 1})

    assert journal.contained(native, progress) == ["u"]


@covers("R139")
def test_an_unknown_entry_format_is_refused() -> None:
    """Bodies have a number of their own (R139)."""
    entry = Entry(1, EntryKind.ITEMS, "turn", {"format": 2, "at": 0, "messages": []})

    with pytest.raises(Incompatible, match="not of format 1"):
        journal.contained(_native(1, entry), Progress(turn="turn"))
