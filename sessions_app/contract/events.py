"""Public, persisted events: their names, and the form in which they are made and read (R086, R097).

What each of them carries is in `catalogue.py`. Previews are not here: they are never stored (R099).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Invalid

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.strict_json import JsonValue


class EventType(StrEnum):
    """Names of persisted events, each with the fact that it states."""

    SESSION_CREATED = "session.created"
    SESSION_CLOSED = "session.closed"
    THREAD_CREATED = "thread.created"
    THREAD_CLOSED = "thread.closed"
    THREAD_REPINNED = "thread.repinned"  # definition, version: an operator moved it
    TURN_ADMITTED = "turn.admitted"
    TURN_STATUS = "turn.status"  # from, to, revision, reason
    TURN_RECOVERY = "turn.recovery"  # failures, next try, policy
    TURN_INCOMPATIBLE = "turn.incompatible"
    TURN_USAGE = "turn.usage"  # the Turn's sums after model requests were counted
    RUN_STARTED = "run.started"
    RUN_ENDED = "run.ended"
    STEP_STARTED = "step.started"
    STEP_ENDED = "step.ended"
    MESSAGE_COMPLETED = "message.completed"
    MODEL_CALL_LOST = "model.call.lost"
    TOOL_REQUESTED = "tool.requested"  # intent stored, with the full arguments
    TOOL_STARTED = "tool.started"  # start record stored
    TOOL_PROGRESS = "tool.progress"
    TOOL_OUTPUT = "tool.output"  # how much output can be read, never what it says
    TOOL_RESULT = "tool.result"  # result received
    TOOL_APPLIED = "tool.applied"  # a checkpoint contains it
    TOOL_UNKNOWN = "tool.unknown"
    TOOL_CANCEL_REQUESTED = "tool.cancel-requested"
    TOOL_CANCEL_ACCEPTED = "tool.cancel-accepted"
    SIGNAL_ADMITTED = "signal.admitted"
    SIGNAL_APPLIED = "signal.applied"
    SIGNAL_WITHDRAWN = "signal.withdrawn"
    SIGNAL_CLOSED = "signal.closed"
    INTERACTION_OPENED = "interaction.opened"
    INTERACTION_SET_ASIDE = "interaction.set-aside"
    INTERACTION_RESOLVED = "interaction.resolved"
    WAIT_OPENED = "wait.opened"
    WAIT_ENDED = "wait.ended"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event that a decision makes; the store numbers it under the Session's lock (law 3)."""

    type: EventType
    payload: dict[str, JsonValue] = field(default_factory=dict)
    thread_id: str | None = None
    turn_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class EventView:
    """One persisted public event. Sequences are gapless in a Session (I18)."""

    sequence: int
    type: str
    payload: dict[str, JsonValue]
    at: datetime
    cursor: str
    thread_id: str | None = None
    turn_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Thread, Turn or Run; a Turn needs its Thread, a Run its Turn (R089).

    A Run's scope are the events that name it, and those of its Turn that name no Run: what befell
    the Turn as a whole.
    """

    thread_id: str | None = None
    turn_id: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        """Raise Invalid for a filter that names a part without its whole."""
        if (self.turn_id and not self.thread_id) or (self.run_id and not self.turn_id):
            msg = "an event filter names a turn with its thread and a run with its turn"
            raise Invalid(msg)

    def admits(self, event: EventView) -> bool:
        """Whether the event is in scope."""
        return (
            self.thread_id in {None, event.thread_id}
            and self.turn_id in {None, event.turn_id}
            and (self.run_id is None or event.run_id in {None, self.run_id})
        )


EVERYTHING: Final = EventFilter()
