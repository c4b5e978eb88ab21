"""Pairs: a public fact is a row and an event, committed together; neither exists alone (I21)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import Model, Q, QuerySet

from sessions_app.contract.events import EventType
from sessions_app.contract.status import (
    SETTLED_CALLS,
    CallState,
    InteractionStatus,
    Lifecycle,
    ModelCallStatus,
    SignalStatus,
    WaitStatus,
)
from sessions_app.models import (
    Interaction,
    Message,
    ModelCall,
    Run,
    Session,
    Signal,
    Step,
    Thread,
    ToolCall,
    Turn,
    Wait,
)
from sessions_app.store.invariants.look import ROWS, Batch, Fact, Look, facts, pruned
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

Key = tuple[str, str]
"""Id of the Session and of the thing inside."""


EVERY: Final = Q()


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows of `model` in `state`, and the event that says so; its payload has the id as `named`."""

    event: EventType
    model: type[Model]
    state: Q = EVERY
    named: str = ""
    columns: tuple[str, str] = ("session_id", "id")
    for_good: bool = True  # False: the row may have gone on to another state

    def told(self, fact: Fact) -> Key:
        """What an event is about."""
        return (fact.session, str(fact.payload.get(self.named)) if self.named else self.about(fact))

    def about(self, fact: Fact) -> str:
        """The thing's id where the event has a column for it."""
        if self.model is Run:
            return str(fact.run)
        if self.model is Thread:
            return str(fact.thread)
        return fact.session if self.model is Session else str(fact.turn)


_STEP: Final = ("run__session_id", "id")
_CALL: Final = "executionId"
_CLOSED: Final = Q(status=Lifecycle.CLOSED)
PAIRS: Final = (
    Pair(EventType.SESSION_CREATED, Session, columns=("id", "id")),
    Pair(EventType.SESSION_CLOSED, Session, _CLOSED, columns=("id", "id")),
    Pair(EventType.THREAD_CREATED, Thread, columns=("session_id", "thread_id")),
    Pair(EventType.THREAD_CLOSED, Thread, _CLOSED, columns=("session_id", "thread_id")),
    Pair(EventType.TURN_ADMITTED, Turn),
    Pair(EventType.TURN_RECOVERY, Turn, Q(failures__gt=0)),
    Pair(EventType.RUN_STARTED, Run),
    Pair(EventType.RUN_ENDED, Run, Q(ended_at__isnull=False)),
    Pair(EventType.STEP_STARTED, Step, named="stepId", columns=_STEP),
    Pair(EventType.STEP_ENDED, Step, Q(ended_at__isnull=False), "stepId", _STEP),
    Pair(EventType.MESSAGE_COMPLETED, Message, named="messageId"),
    Pair(
        EventType.MODEL_CALL_LOST, ModelCall, Q(status=ModelCallStatus.LOST), "modelCallId", _STEP
    ),
    Pair(EventType.TOOL_REQUESTED, ToolCall, named=_CALL),
    Pair(EventType.TOOL_STARTED, ToolCall, Q(attempts__gt=0), _CALL),
    Pair(EventType.TOOL_RESULT, ToolCall, Q(state__in=list(SETTLED_CALLS)), _CALL),
    Pair(EventType.TOOL_APPLIED, ToolCall, Q(applied_at__isnull=False), _CALL),
    Pair(EventType.TOOL_UNKNOWN, ToolCall, Q(state=CallState.UNKNOWN), _CALL, for_good=False),
    Pair(EventType.SIGNAL_ADMITTED, Signal, named="signalId"),
    Pair(EventType.SIGNAL_APPLIED, Signal, Q(status=SignalStatus.APPLIED), "signalId"),
    Pair(EventType.SIGNAL_WITHDRAWN, Signal, Q(status=SignalStatus.WITHDRAWN), "signalId"),
    Pair(EventType.SIGNAL_CLOSED, Signal, Q(status=SignalStatus.CLOSED), "signalId"),
    Pair(EventType.INTERACTION_OPENED, Interaction, named="interactionId"),
    Pair(
        EventType.INTERACTION_RESOLVED,
        Interaction,
        ~Q(status=InteractionStatus.OPEN),
        "interactionId",
    ),
    Pair(EventType.WAIT_OPENED, Wait, named="waitId"),
    Pair(EventType.WAIT_ENDED, Wait, ~Q(status=WaitStatus.OPEN), "waitId"),
)


def together(look: Look) -> Iterator[Breach]:
    """I21: for each pair, every row has its event and every event has its row."""
    for batch in look.batches:
        cut = pruned(batch)
        told = _told(batch)
        for pair in PAIRS:
            yield from _apart(batch, pair, told[pair.event], cut)


def _told(batch: Batch) -> dict[EventType, set[Key]]:
    pairs = {pair.event: pair for pair in PAIRS}
    told: dict[EventType, set[Key]] = {event: set() for event in pairs}
    for fact in facts(batch, *pairs):
        event = EventType(fact.type)
        told[event].add(pairs[event].told(fact))
    return told


def _apart(batch: Batch, pair: Pair, told: set[Key], cut: frozenset[str]) -> Iterator[Breach]:
    stored, noun = set(_rows(batch, pair, pair.state)), pair.model.__name__
    for session, name in sorted(stored - told):
        if session not in cut:
            yield Breach(21, name, f"stored in {noun} without its event {pair.event}")
    if pair.for_good:
        for _, name in sorted(told - stored):
            yield Breach(21, name, f"event {pair.event} has no {noun} that is so")


def _rows(batch: Batch, pair: Pair, state: Q) -> Iterator[Key]:
    session, name = pair.columns
    rows: QuerySet[Model] = QuerySet(pair.model).filter(batch.within(session), state).order_by("pk")
    found: Iterator[Key] = rows.values_list(session, name).iterator(chunk_size=ROWS)
    return found
