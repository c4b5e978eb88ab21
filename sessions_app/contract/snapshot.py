"""Snapshot: the public state of one scope of a Session, at one cursor (R087, R091, R092)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessions_app.contract.events import EventFilter
    from sessions_app.contract.identity import SessionKey
    from sessions_app.contract.views import (
        MessageView,
        SessionView,
        ThreadView,
        ToolView,
        TurnView,
    )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything public in one scope; pruning takes nothing from it.

    The maps are by Thread id, Turn id, message id and `ToolView.place`. A Turn's or Run's scope has
    no Threads, and only the whole Session's has a session. A Run's scope has its Turn, and the
    messages and tools that belong to the Run at present.
    """

    key: SessionKey
    within: EventFilter
    cursor: str | None
    last_sequence: int
    pruned_through: int = 0
    session: SessionView | None = None
    threads: dict[str, ThreadView] = field(default_factory=dict)
    turns: dict[str, TurnView] = field(default_factory=dict)
    messages: dict[str, MessageView] = field(default_factory=dict)
    tools: dict[str, ToolView] = field(default_factory=dict)

    @property
    def history(self) -> tuple[MessageView, ...]:
        """The messages by first public sequence, which the map's order is not (R075)."""
        return tuple(sorted(self.messages.values(), key=lambda said: said.sequence))


def nothing(key: SessionKey, within: EventFilter) -> Snapshot:
    """The snapshot before the first event."""
    return Snapshot(key, within, None, 0)
