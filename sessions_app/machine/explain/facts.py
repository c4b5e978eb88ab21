"""What an explanation rests on, the words for causes, and the form in which one is said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from sessions_app.contract.explanation import Explanation, LastRun, QueuePlace
from sessions_app.contract.status import SETTLED_CALLS, TurnStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.explanation import NextAction
    from sessions_app.models import Host, Interaction, Run, Thread, ToolCall, Turn, Wait


class Cause(StrEnum):
    """What holds a Turn; stable on every surface."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RUNNING = "running"  # a host owns it
    PAUSING = "pausing"  # its owner stops at the next safe boundary
    OWNER_LOST = "owner-lost"  # its lease expired; a takeover is due
    PAUSED = "paused"
    CANCELLING = "cancelling"  # effects settle
    BEHIND_HEAD = "behind-head"  # an earlier Turn of its Thread is unfinished
    SUSPECT = "suspect"  # held until an operator releases it
    HELD = "held-after-deaths"  # held for a time
    UNKNOWN_EFFECT = "unknown-effect"
    INTERACTION = "waiting-for-interaction"
    TOOL = "waiting-for-tool"
    BACKOFF = "backoff"
    SIGNAL = "waiting-for-signal"
    NO_HOST = "no-host"  # nobody alive has the pinned definition
    HOST_SILENT = "host-silent"  # who has it does not reach storage
    INCOMPATIBLE = "incompatible"  # hosts that looked could not run it
    EVERY_SLOT_BUSY = "every-slot-busy"
    NO_SCAN = "no-scan"  # nobody looks at the ready index
    HANDED_OVER = "handed-over"  # its host drained; the next look takes it
    READY = "ready"  # the next look takes it
    STRANDED = "stranded"  # nothing would ever look at it: a fault of ours


@dataclass(frozen=True, slots=True)
class Facts:
    """Rows and figures of one moment."""

    now: datetime
    turn: Turn
    thread: Thread
    queue: Sequence[Turn]  # unfinished Turns of the Thread in order, the first ones
    ahead: int  # unfinished Turns of the Thread before this one
    calls: Sequence[ToolCall]  # of the Turn that no checkpoint contains yet
    interactions: Sequence[Interaction]  # open ones of the Turn
    waits: Sequence[Wait]  # open ones of the Turn
    last_run: Run | None
    hosts: Sequence[Host]  # that neither stopped in order nor were found dead
    leases: Mapping[str, int]  # Threads that each host owns
    slots: int  # Turns that one host runs at once
    lease: timedelta
    scanned_at: datetime | None
    grace_until: datetime | None
    contradicted: Sequence[str] = ()  # calls whose late outcome differs from the one that stands

    @property
    def head(self) -> Turn | None:
        """The first unfinished Turn of the Thread."""
        return self.queue[0] if self.queue else None

    @property
    def leased(self) -> bool:
        """Whether a lease is alive."""
        until = self.thread.lease_expires_at
        return until is not None and until > self.now

    @property
    def due(self) -> bool:
        """Whether a look would take the Thread: only hosts are missing then."""
        return self.thread.wake_at is not None and self.thread.wake_at <= self.now

    @property
    def unsettled(self) -> list[ToolCall]:
        """Calls whose effect is open or UNKNOWN."""
        return [call for call in self.calls if call.state not in SETTLED_CALLS]

    @property
    def having(self) -> list[Host]:
        """Hosts that have the pinned definition, whatever else is the matter with them."""
        pin = self.thread.pin
        names = {str(pin), pin.any_version}
        return [host for host in self.hosts if not names.isdisjoint(host.definitions)]

    @property
    def fitting(self) -> list[Host]:
        """Those of them that renewed within a lease and claim: those that drain do not."""
        return [host for host in self.having if self.renewed(host) and not host.draining_at]

    def renewed(self, host: Host) -> bool:
        """Whether a host reached storage within a lease."""
        return host.seen_at > self.now - self.lease


def say(
    facts: Facts,
    cause: Cause,
    text: str,
    actions: Sequence[NextAction],
    waits_for: str | None,
    **shown: JsonValue | datetime,
) -> Explanation:
    """Put an explanation together; times become text."""
    run = facts.last_run
    if facts.contradicted:
        shown["contradicted"] = [*facts.contradicted]
        text = f"{text}; what stands for {', '.join(facts.contradicted)} was contradicted later"
    return Explanation(
        turn_id=facts.turn.id,
        status=TurnStatus(facts.turn.status),
        cause=cause.value,
        text=text,
        facts={name: as_json(value) for name, value in shown.items()},
        next_actions=tuple(actions),
        waits_for=waits_for,
        interactions=tuple(asked.id for asked in facts.interactions),
        queue=tuple(
            QueuePlace(turn.id, TurnStatus(turn.status), turn.reason) for turn in facts.queue
        ),
        ahead=facts.ahead,
        last_run=LastRun(run.id, run.status, run.host, run.started_at, run.ended_at)
        if run
        else None,
    )


def as_json(value: JsonValue | datetime) -> JsonValue:
    """Give a time as text and everything else as it is."""
    return value.isoformat() if isinstance(value, datetime) else value


def execution(call: ToolCall) -> dict[str, JsonValue]:
    """What is known of a call, arguments and result left aside."""
    return {
        "executionId": call.id,
        "name": call.name,
        "state": call.state,
        "route": call.route,
        "effect": call.effect,
        "attempts": call.attempts,
        "startedAt": as_json(call.started_at),
        "dispatchedAt": as_json(call.dispatched_at),
        "admittedAt": as_json(call.admitted_at),
        "deliverAt": as_json(call.deliver_at),
        "cancelRequestedAt": as_json(call.cancel_requested_at),
        "cancelAcceptedAt": as_json(call.cancel_accepted_at),
        "unreadCode": call.unread_code,
        "unreadAt": as_json(call.unread_at),
    }


def lease(facts: Facts) -> dict[str, JsonValue | datetime]:
    """Who owns the Thread, until when."""
    return {
        "host": facts.thread.lease_host,
        "leaseUntil": facts.thread.lease_expires_at,
        "runId": facts.turn.run_id,
        "takeovers": facts.turn.takeovers,
    }
