"""A projection keeps its place: no gap in a whole Session, none that matters in a part of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.events import EVERYTHING, EventFilter, EventView
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.paging import EventPage
from sessions_app.contract.projection import EventProjection
from tests.covers import covers, poses

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

KEY = SessionKey("acme", "chat")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def event(
    sequence: int, type_: str, payload: dict[str, JsonValue], run: str | None = None
) -> EventView:
    """One event of the Turn."""
    return EventView(sequence, type_, payload, NOON, f"cursor-{sequence}", "main", "turn_1", run)


def completed(sequence: int, name: str, text: str, revision: int = 1) -> EventView:
    """A completed message of the assistant."""
    payload: dict[str, JsonValue] = {
        "messageId": name,
        "role": "assistant",
        "attempt": 1,
        "revision": revision,
        "parts": [{"type": "text", "text": text}],
    }
    return event(sequence, "message.completed", payload, "run_1")


def admitted(sequence: int) -> EventView:
    """The admission of the Turn."""
    return event(sequence, "turn.admitted", {"requestId": "r1", "ordinal": 1})


@covers("R094")
def test_a_whole_session_refuses_a_gap() -> None:
    """What is missing is fetched by a snapshot, never passed over."""
    projection = EventProjection.of(KEY)
    projection.accept(admitted(1))

    with pytest.raises(CursorExpired, match="event 3 follows on 1"):
        projection.accept(completed(3, "msg_1", "hello"))
    assert (projection.sequence, projection.snapshot().messages) == (1, {})


@covers("R094")
def test_a_filtered_one_takes_events_as_they_come() -> None:
    """Sequences are the Session's, so a part of it has gaps."""
    projection = EventProjection.of(KEY, EventFilter("main", "turn_1"))

    projection.accept(admitted(4))
    projection.accept(completed(9, "msg_1", "hello"))

    assert (projection.sequence, projection.cursor) == (9, "cursor-9")
    assert [said.sequence for said in projection.snapshot().history] == [9]


def test_what_was_seen_before_changes_nothing() -> None:
    """A page that is read twice is folded once."""
    projection = EventProjection.of(KEY)
    events = [admitted(1), completed(2, "msg_1", "hello")]
    for each in events:
        projection.accept(each)
    before = projection.snapshot()

    assert [projection.accept(each) for each in events] == [False, False]
    assert projection.snapshot() == before


@covers("R093")
def test_an_empty_page_advances() -> None:
    """A page that the filter emptied moves the cursor all the same."""
    projection = EventProjection.of(KEY, EventFilter("main", "turn_1"))

    projection.accept_page(EventPage((), "cursor-100", through=100, last_sequence=250))

    assert (projection.sequence, projection.cursor) == (100, "cursor-100")


@covers("R095")
def test_a_reset_replaces_everything() -> None:
    """After an expired cursor the new snapshot counts, whatever was known."""
    projection = EventProjection.of(KEY)
    projection.accept(admitted(1))
    taken = replace(EventProjection.of(KEY).snapshot(), cursor="cursor-50", last_sequence=50)

    projection.reset(taken)

    assert projection.snapshot() == taken
    assert projection.accept(completed(51, "msg_1", "hello"))


@covers("R075")
@poses("C57")
def test_a_message_that_comes_again_keeps_its_place() -> None:
    """A higher revision replaces the text; history stays in the order of first appearance."""
    projection = EventProjection.of(KEY)
    projection.accept(admitted(1))
    for each in (
        completed(2, "msg_b", "first"),
        completed(3, "msg_a", "second"),
        completed(4, "msg_b", "first, whole", revision=2),
    ):
        projection.accept(each)

    history = projection.snapshot().history

    assert [said.message_id for said in history] == ["msg_b", "msg_a"]
    assert history[0].parts == [{"type": "text", "text": "first, whole"}]
    assert (history[0].sequence, history[0].revision) == (2, 2)


def test_what_was_given_does_not_change_later() -> None:
    """A snapshot is a value: folding on leaves it as it was."""
    projection = EventProjection.of(KEY)
    projection.accept(admitted(1))
    given = projection.snapshot()

    projection.accept(completed(2, "msg_1", "hello"))

    assert given.messages == {}


@covers("R091")
def test_the_scope_of_a_run_has_what_befell_its_turn() -> None:
    """Events that name no Run change the Turn; another Run's are not in scope."""
    within = EventFilter("main", "turn_1", "run_1")
    moved: dict[str, JsonValue] = {"from": "QUEUED", "to": "PAUSED", "revision": 2, "reason": None}

    assert within.admits(event(1, "turn.status", moved))
    assert within.admits(event(1, "turn.status", moved, "run_1"))
    assert not within.admits(event(1, "turn.status", moved, "run_2"))
    assert EVERYTHING.admits(event(1, "turn.status", moved, "run_2"))
