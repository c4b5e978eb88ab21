"""Explanation: why a Turn is not running, in a form that people and programs read (R262)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.status import TurnStatus


class Verb(StrEnum):
    """What may be done next: verbs of `manage.py durable` and, the last three, deeds outside."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RESPOND = "respond"
    SIGNAL = "signal"
    RELEASE = "release"
    RECONCILE = "reconcile"
    SUBMIT = "submit"
    EXPLAIN = "explain"
    WATCH = "watch"
    VERSIONS = "versions"
    REPIN = "repin"
    SCAN = "scan"
    CHECK = "check"
    DOCTOR = "doctor"
    WAIT = "wait"  # nothing has to be done
    START = "start"  # a process
    VERIFY = "verify"  # what became of an effect, where it happened


CONTROLS: Final = frozenset(
    {Verb.CANCEL, Verb.PAUSE, Verb.RESUME, Verb.RESPOND, Verb.SIGNAL, Verb.RELEASE}
)
"""They change the Turn that they name."""
OUTSIDE: Final = frozenset({Verb.WAIT, Verb.START, Verb.VERIFY})
"""No command does them."""


@dataclass(frozen=True, slots=True)
class NextAction:
    """One thing that may be done; `target` is the id that the verb takes."""

    verb: Verb
    target: str
    text: str

    def __str__(self) -> str:
        """As people read it."""
        return self.text


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """An unfinished Turn of the same Thread, in the order in which they run."""

    turn_id: str
    status: TurnStatus
    reason: str | None


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest invocation. That it stopped says nothing about the Turn (R262)."""

    run_id: str
    status: str
    host: str
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The first cause, the facts it rests on, what ends it and what may be done.

    `waits_for` names the fact that would change the answer without anybody's action.
    """

    turn_id: str
    status: TurnStatus
    cause: str
    text: str
    facts: dict[str, JsonValue]
    next_actions: tuple[NextAction, ...]
    waits_for: str | None = None
    interactions: tuple[str, ...] = ()  # open ones
    queue: tuple[QueuePlace, ...] = ()  # the first ones
    ahead: int = 0  # unfinished Turns before this one
    last_run: LastRun | None = None


@dataclass(frozen=True, slots=True)
class CursorExplanation:
    """Whether an observer can go on from a cursor, and what it does if not (R269)."""

    state: str  # current, behind, pruned, ahead, other incarnation
    text: str
    sequence: int
    last_sequence: int
    pruned_through: int
    next_actions: tuple[NextAction, ...]
