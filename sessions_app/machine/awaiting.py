"""What a Turn waits for: open questions to people, open wait conditions, and its next deadline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import BY_SIGNAL
from sessions_app.contract.status import (
    SETTLED_CALLS,
    CallState,
    InteractionStatus,
    SignalKind,
    SignalStatus,
    TurnStatus,
    WaitReason,
    WaitStatus,
)
from sessions_app.machine.table import move

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sessions_app.machine.change import Change
    from sessions_app.models import (
        Interaction,
        Session,
        Signal,
        StandingRule,
        Thread,
        ToolCall,
        Turn,
        Wait,
    )

IN_PROCESS: Final = frozenset({"local"})
BY_PERSON: Final = "manual"
FOR_CALLS: Final = frozenset(
    {WaitReason.TOOL, WaitReason.INTERACTION, WaitReason.SIGNAL, WaitReason.UNKNOWN}
)


@dataclass(slots=True)
class Awaiting:
    """A Turn and what it waits for, under the Session's lock."""

    session: Session
    thread: Thread
    turn: Turn
    calls: list[ToolCall]  # of this Turn that no checkpoint contains yet
    signals: list[Signal]  # pending and kept
    asked: list[Interaction] = field(default_factory=list, kw_only=True)  # open and answered
    waits: list[Wait] = field(default_factory=list, kw_only=True)  # open
    rules: list[StandingRule] = field(default_factory=list, kw_only=True)  # in force

    def call(self, execution_id: str | None) -> ToolCall | None:
        """The unapplied call of this id."""
        return next((call for call in self.calls if call.id == execution_id), None)

    def open_questions(self) -> list[Interaction]:
        """Interactions that nobody answered yet."""
        return [asked for asked in self.asked if asked.status == InteractionStatus.OPEN]

    def open_waits(self) -> list[Wait]:
        """Wait conditions that nothing ended yet, the oldest first."""
        return [wait for wait in self.waits if wait.status == WaitStatus.OPEN]


def consumed(change: Change, rows: Awaiting, call: ToolCall) -> None:
    """The call begins under its approval, which is used up by that (S10)."""
    for asked in rows.asked:
        if asked.call_id == call.id and asked.status == InteractionStatus.ANSWERED:
            consume(change, asked)


def consume(change: Change, asked: Interaction) -> None:
    """Use an answer up."""
    asked.status = InteractionStatus.CONSUMED
    asked.consumed_at = change.now


def wakes(signal: Signal) -> bool:
    """Whether the harness has to take this input in; an inject and a kept signal wait for it."""
    return signal.status == SignalStatus.PENDING and signal.kind != SignalKind.INJECT


def may_begin(call: ToolCall) -> bool:
    """Whether the call is allowed and has not begun, and no fact from outside is missing."""
    return (
        call.state == CallState.INTENDED
        and call.allowed_at is not None
        and call.deliver_at is None
        and call.route not in {BY_PERSON, BY_SIGNAL}
    )


def goes_on(calls: Sequence[ToolCall]) -> bool:
    """Whether an owner would find a call to begin or to repeat.

    One that nobody can vouch for holds up what follows on the round, and none of its siblings.
    """
    return any(may_begin(call) or _left_behind(call) for call in calls)


def _left_behind(call: ToolCall) -> bool:
    """Whether its owner died in it; as nobody doubts it, the next owner repeats it."""
    return call.state == CallState.STARTED and call.route in IN_PROCESS


def may_be_due(turn: Turn, now: datetime) -> bool:
    """Whether a look at the Turn's calls is worth its while."""
    return _deadline_passed(turn, now) or (
        turn.status == TurnStatus.WAITING and turn.reason in FOR_CALLS
    )


def is_due(turn: Turn, calls: Sequence[ToolCall], now: datetime) -> bool:
    """Whether a deadline has passed, or a call that was allowed in a pause is to be sent now."""
    return _deadline_passed(turn, now) or bool(to_send(turn, calls))


def to_send(turn: Turn, calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Calls for a pool that were allowed while the Turn was paused, once it is so no more."""
    if turn.status in {TurnStatus.PAUSED, TurnStatus.PAUSING} or turn.cancel_request is not None:
        return []
    return [call for call in calls if may_begin(call) and call.route not in IN_PROCESS]


def _deadline_passed(turn: Turn, now: datetime) -> bool:
    return turn.wait_deadline is not None and turn.wait_deadline <= now


def reason(calls: Sequence[ToolCall]) -> WaitReason:
    """What a parked Turn waits for: evidence, a person, a signal, else results."""
    if any(call.state == CallState.UNKNOWN for call in calls):
        return WaitReason.UNKNOWN
    resting = [call for call in calls if call.state == CallState.INTENDED and not call.deliver_at]
    if any(call.allowed_at is None or call.route == BY_PERSON for call in resting):
        return WaitReason.INTERACTION
    if any(call.route == BY_SIGNAL for call in resting):
        return WaitReason.SIGNAL
    return WaitReason.TOOL


def waits_on(change: Change, turn: Turn, calls: Sequence[ToolCall]) -> None:
    """A Turn that nobody owns says what it waits for now; a ready one is left to its claim."""
    if turn.status != TurnStatus.WAITING or turn.reason not in FOR_CALLS:
        return
    if all(call.state in SETTLED_CALLS for call in calls):
        return
    now_for = reason(calls)
    if now_for != turn.reason:
        move(change, turn, TurnStatus.WAITING, now_for)


def lower(turn: Turn, deadline: datetime | None) -> None:
    """One more thing is open: the Turn's deadline is the earliest of all."""
    if deadline is not None:
        turn.wait_deadline = min(turn.wait_deadline or deadline, deadline)


def reckon(rows: Awaiting) -> None:
    """The Turn's deadline anew, from everything that is open."""
    rows.turn.wait_deadline = min(_deadlines(rows), default=None)


def _deadlines(rows: Awaiting) -> Iterator[datetime]:
    yield from (asked.expires_at for asked in rows.open_questions() if asked.expires_at)
    yield from (wait.deadline_at for wait in rows.open_waits() if wait.deadline_at)
