"""Change: what decisions of one transaction leave behind.

The store gives it `now` and an id source and writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sessions_app.contract.catalogue import check_members
from sessions_app.contract.events import EventDraft, EventType

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django.db.models import Model

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.models import Thread, Turn

PublicThreadIds = dict[str, str]


@dataclass(slots=True)
class Change:
    """New rows and numbered-to-be events, in the order in which decisions made them."""

    now: datetime
    new_id: Callable[[str], str]
    rows: list[Model] = field(default_factory=list)
    events: list[tuple[str, EventDraft]] = field(default_factory=list)
    touched: dict[str, Thread] = field(default_factory=dict)
    public_ids: PublicThreadIds = field(default_factory=dict)

    def add(self, *rows: Model) -> None:
        """Insert these rows with the change."""
        self.rows.extend(rows)

    def touch(self, thread: Thread) -> None:
        """Have the Thread's `wake_at` recomputed in this commit (S2)."""
        self.touched[thread.id] = thread
        self.public_ids[thread.id] = thread.thread_id

    def emit(
        self,
        session_pk: str,
        type_: EventType,
        payload: dict[str, JsonValue],
        *,
        thread: Thread | None = None,
        turn: Turn | None = None,
        run: str | None = None,
    ) -> None:
        """State a public fact; it gets its sequence under the Session's lock.

        Raises IllegalEvent for members that the catalogue does not name.
        """
        check_members(type_, payload)
        thread_id = thread.thread_id if thread else None
        if turn is not None and thread_id is None:
            thread_id = self.public_ids[turn.thread_id]
        draft = EventDraft(type_, payload, thread_id, turn.id if turn else None, run)
        self.events.append((session_pk, draft))

    def events_of(self, session_pk: str) -> int:
        """How many events of this Session were made so far."""
        return sum(1 for owner, _ in self.events if owner == session_pk)
