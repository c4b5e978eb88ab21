"""What the use cases need from the outside: the ledger, an executor, a way to publish."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime, timedelta

    from hands_app.contract.binding import ToolBinding
    from hands_app.contract.messages import (
        Cancel,
        Command,
        Execute,
        ExecuteByReference,
        ExecutionResult,
        Origin,
        Output,
        Query,
        Update,
    )
    from hands_app.contract.strict_json import JsonValue
    from hands_app.contract.tools import Lookup, Tool, ToolContext
    from hands_app.machine.admission import Admission, Cancellation
    from hands_app.machine.execution import Execution, Refusal
    from hands_app.machine.output import Written
    from hands_app.worker.refusals import Noted

Outcome_co = TypeVar("Outcome_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Told(Generic[Outcome_co]):
    """What a change came to, and the updates that its commit put into the outbox."""

    outcome: Outcome_co
    updates: tuple[Update, ...] = ()


Answer: TypeAlias = "Told[Execution | Refusal]"
"""What an owner's change came to: the execution as it is now, or why it does not count."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An execution that this host owns under `token`, as long as its lease is renewed."""

    execution_id: str
    token: str
    host_id: str
    binding: ToolBinding
    arguments: dict[str, JsonValue] = field(repr=False)
    origin: Origin
    needs_lookup: bool
    batch_id: str | None = None
    output_bytes: int = 0
    """Where the output of earlier attempts ends."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call made ready: the tool, its validated arguments, its context, and them as sent."""

    tool: Tool
    arguments: dict[str, Any] = field(repr=False)
    context: ToolContext
    raw: dict[str, JsonValue] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The call is over and its result is certain."""

    result: ExecutionResult


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The end says nothing of the effect; `late` waits for the real outcome where one may come."""

    failure: ExecutionResult
    late: Callable[[], Outcome] | None = None


Outcome: TypeAlias = "Confirmed | Unconfirmed"


@dataclass(frozen=True, slots=True)
class Renewed:
    """What renewing said of each token; one that is merely locked is in neither set."""

    kept: frozenset[str]
    superseded: frozenset[str]
    host_is_lost: bool


@dataclass(frozen=True, slots=True)
class HostProfile:
    """What a process is for: `work` or `control`, the routes it serves, how much at once."""

    role: str
    routes: tuple[str, ...]
    slots: int


@dataclass(frozen=True, slots=True)
class HostCard:
    """How a process introduces itself; `presence` is what others test to see whether it lives."""

    host_id: str
    profile: HostProfile
    process_id: int
    presence: str


@dataclass(frozen=True, slots=True)
class HostView(HostCard):
    """A host as others see it."""

    started_at: datetime
    renewed_at: datetime
    draining_at: datetime | None


@dataclass(frozen=True, slots=True)
class SweepTurn:
    """The right to sweep now. In a gap owners renew first (S4)."""

    now: datetime
    in_gap: bool
    is_new: bool


class Policy(Protocol):
    """Decides whether this worker obeys a command, before any ledger access (R181)."""

    def __call__(self, command: Command, /) -> None:
        """Return when it may be obeyed; raise Forbidden when not."""


class Commands(Protocol):
    """What commands do to the ledger. Each method is one transaction; all raise Unavailable."""

    def admit(self, command: Execute, *, runnable: bool) -> Told[Admission]:
        """Make a command durable, or recognise it."""

    def refuse(self, command: ExecuteByReference) -> Told[Admission]:
        """End a command whose arguments cannot be had here, before anything starts."""

    def cancel(self, command: Cancel) -> Told[Cancellation]:
        """End what was not started, leave a tombstone, or record the wish."""

    def query(self, command: Query) -> tuple[Update, ...]:
        """Return what came after the prefix that the Brain has."""

    def output(self, command: Output) -> Update:
        """Return a page of what a tool wrote."""


class Work(Protocol):
    """What owners do in the ledger. Each method is one transaction; all raise Unavailable."""

    def claim(
        self, host_id: str, routes: Collection[str], digests: Collection[str], limit: int
    ) -> list[Claim]:
        """Take up to `limit` due executions; raise OwnershipLost when the host is marked lost."""

    def release(self, claim: Claim) -> Answer:
        """Give a claim back before its start."""

    def start(self, claim: Claim) -> Answer:
        """Write the start record."""

    def finish(self, claim: Claim, result: ExecutionResult) -> Answer:
        """Record how the attempt ended."""

    def unconfirmed(self, claim: Claim, failure: ExecutionResult) -> Answer:
        """Record an attempt whose end says nothing of its effect."""

    def never_happened(self, claim: Claim) -> Answer:
        """Record that a lookup found no effect."""

    def unsure(self, claim: Claim) -> Answer:
        """Record that a lookup cannot say what happened."""

    def lookup_failed(self, claim: Claim) -> Answer:
        """Record that a lookup broke."""

    def progress(self, claim: Claim, payload: dict[str, JsonValue]) -> Answer:
        """Record a sign of life."""

    def output(self, claim: Claim, written: Written) -> Answer:
        """Add to what the tool wrote."""

    def cancel_wishes(self, tokens: Collection[str]) -> frozenset[str]:
        """Return those of the tokens whose executions somebody wants to stop."""


class Orphans(Protocol):
    """Executions without a living owner."""

    def find(self, limit: int, *, in_gap: bool) -> list[str]:
        """Return ids of executions whose owner is gone or that nobody started in time."""

    def settle(self, execution_id: str, own_tokens: Collection[str], *, in_gap: bool) -> Told[bool]:
        """Do what the effect class says about one of them."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many executions lost their details, how many went, and how many rows of hosts."""

    emptied: int
    removed: int
    hosts: int

    @property
    def total(self) -> int:
        """Everything that was changed."""
        return self.emptied + self.removed + self.hosts


class Retention(Protocol):
    """What of ended executions goes, and when."""

    def prune(self, limit: int) -> Pruned:
        """Take at most `limit` of each kind."""


class Batches(Protocol):
    """Batches and their children. Each method is one transaction; all raise Unavailable."""

    def due(self, limit: int) -> list[str]:
        """Return ids of batches for which something has changed."""

    def advance(self, batch_id: str) -> Told[bool]:
        """Take one step of a batch: record, admit, cancel, end; False when nothing changed."""


class Outbox(Protocol):
    """Updates that are committed but not known to be published."""

    def unpublished(self, limit: int, *, older_than: timedelta) -> list[Update]:
        """Return them in the order of their making."""

    def mark_published(self, updates: Sequence[Update]) -> None:
        """Note that the broker has taken these."""

    def mark_taken(self, event_ids: Collection[str]) -> None:
        """Note that a Brain has taken these in."""


class Hosts(Protocol):
    """The living processes of a pool."""

    def enroll(self, card: HostCard) -> None:
        """Write the Host row of a process that holds its presence."""

    def present_again(self, host_id: str, presence: str) -> None:
        """Note by what others test a host that had to take its lock again."""

    def renew(self, host_id: str, tokens: Collection[str]) -> Renewed:
        """Renew the host and the leases that live in it."""

    def drain(self, host_id: str) -> None:
        """Note that the host claims nothing more."""

    def close(self, host_id: str) -> None:
        """Note that the host ended in order."""

    def living(self) -> list[HostView]:
        """Return the hosts whose end is not known."""

    def mark_lost(self, host_ids: Collection[str]) -> None:
        """Note that these hosts died."""

    def sweep_turn(self, host_id: str) -> SweepTurn | None:
        """Take or keep the right to sweep."""


class RefusalBook(Protocol):
    """Where operators read what hosts refused."""

    def write(self, host_id: str, noted: Sequence[Noted]) -> None:
        """Add to what this host has refused; raises Unavailable."""


class Presence(Protocol):
    """A lock that the operating system or the database drops when the process dies (S4)."""

    @property
    def proves_death(self) -> bool:
        """Whether a free lock can only mean death; a database server may also have restarted."""

    @property
    def taken(self) -> int:
        """Raised by one with each taking: looks compare only within one unbroken hold."""

    def take(self, host_id: str) -> str:
        """Take the lock of a host and return the text by which others test it."""

    def is_held(self) -> bool:
        """Whether the lock is still ours; False asks to take it again."""

    def are_gone(self, presences: Collection[str]) -> frozenset[str]:
        """Return those whose lock is free; raise Unavailable when that cannot be seen."""

    def drop(self) -> None:
        """Give the lock back."""


class Publisher(Protocol):
    """Sends updates to the Brain."""

    def publish(self, updates: Sequence[Update]) -> int:
        """Send in order and return how many the broker has taken; the rest is tried again."""


class Executor(Protocol):
    """Runs calls."""

    def run(self, call: Call) -> Outcome:
        """Run one call to its end or its deadline; never raises."""

    def look_up(self, call: Call) -> Lookup:
        """Ask a queryable tool what became of a call; raises whatever the lookup raises."""
