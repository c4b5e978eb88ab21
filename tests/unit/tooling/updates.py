"""What a ledger may tell of one execution, and the ways in which it may arrive."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import strategies as st

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.models import ToolCall

News: TypeAlias = "tuple[UpdateKind, dict[str, JsonValue]]"
Story: TypeAlias = "list[News]"

ADMITTED: Story = [(UpdateKind.ADMITTED, {"runnable": True})]
STARTED: Story = [(UpdateKind.STARTED, {"attempt": 1, "reason": "first"})]
TOMBSTONE: Story = [
    (UpdateKind.RESULT, {"state": "CANCELLED", "error": {"code": "CANCELLED", "message": "asked"}})
]
UNKNOWN: Story = [
    (UpdateKind.RESULT, {"state": "UNKNOWN", "error": {"code": "UNCERTAIN", "message": "died"}})
]

SIGNS: Story = [
    (UpdateKind.PROGRESS, {"message": "half", "fraction": 0.5, "data": {}}),
    (UpdateKind.PROGRESS, {"cancel": "accepted"}),
    (UpdateKind.OUTPUT, {"available": 10, "sealed": False}),
]
ENDS: Story = [
    (UpdateKind.RESULT, {"state": "COMPLETED", "content": {"n": 1}, "metadata": {"ms": 3}}),
    (UpdateKind.RESULT, {"state": "FAILED", "error": {"code": "NO", "message": "not today"}}),
    (UpdateKind.RESULT, {"state": "CANCELLED", "error": {"code": "STOP", "message": "ok"}}),
]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Draw what a ledger tells of one execution, from its admission to whatever was reached."""
    if draw(st.booleans(), label="tombstone"):
        return TOMBSTONE
    story = list(ADMITTED)
    for attempt in range(draw(st.integers(0, 2), label="starts")):
        story.append((UpdateKind.STARTED, {"attempt": attempt + 1, "reason": "first"}))
        story += draw(st.lists(st.sampled_from(SIGNS), max_size=2), label="signs of life")
    started = len(story) > 1
    if started and draw(st.booleans(), label="in doubt"):
        story += UNKNOWN
    if draw(st.booleans(), label="ended"):
        story.append(draw(st.sampled_from(ENDS)))
    return story


@st.composite
def journeys(draw: st.DrawFn) -> tuple[Story, list[int]]:
    """Draw a story, and the places of its updates in the order in which they arrive, or again."""
    story = draw(stories())
    places = st.integers(0, len(story) - 1)
    return story, draw(st.lists(places, max_size=2 * len(story)), label="arrivals")


def updates(call: ToolCall, story: Story) -> list[Update]:
    """Write a story down as the updates of this call."""
    return [
        Update(
            event_id=new_id("evt_"),
            namespace="acme",
            execution_id=call.pk,
            request_digest=call.request_digest,
            route=call.route,
            sequence=number,
            kind=kind,
            payload=payload,
            at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for number, (kind, payload) in enumerate(story, start=1)
    ]
