"""Events of a timeline that stands nowhere."""

from __future__ import annotations

from datetime import UTC, datetime

from sessions_app.contract.events import EventView


def event(sequence: int) -> EventView:
    """An event whose cursor is its number."""
    return EventView(sequence, "x.acme.tick", {}, datetime(2026, 1, 1, tzinfo=UTC), str(sequence))
