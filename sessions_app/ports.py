"""The ports: what the use cases need of the outside.

Each has one contract suite that runs over every implementation.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from sessions_app.contract.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from datetime import datetime

    from hands_app.contract.reconciling import Reconciliation
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import (
        CallFacts,
        Claim,
        Commit,
        CommitAnswer,
        EntryDraft,
        FrameDraft,
        HostIdentity,
        IntentDraft,
        LivingHost,
        MessageDraft,
        ModelCallFacts,
        Native,
        PendingInput,
        RenewAnswer,
        ScanReport,
        WaitDraft,
    )
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.contract.transcript import Message, Passage, Piece


class Clock(Protocol):
    """The store's authoritative time (law 5, R170)."""

    def now(self) -> datetime:
        """Database time, UTC."""


class Wakeups(Protocol):
    """Hints after commit. They carry no truth; losing every one of them costs time only (law 1)."""

    def ring(self, thread_pk: str, definition: DefinitionKey) -> None:
        """Say "look at this Thread".

        Returns at once and never raises; a full queue drops the hint (S15).
        """


class SessionBackend(Protocol):
    """What a Brain may ask of the store.

    All calls block and raise Unavailable when storage cannot be reached.
    """

    def join(self, host: HostIdentity, presence_key: int) -> None:
        """Write the Host row. The presence lock is already held (S4)."""

    def leave(self, host_id: str) -> None:
        """Mark the Host stopped in order."""

    def claim(
        self,
        host: HostIdentity,
        *,
        limit: int,
        first: str | None = None,
        suspects: bool = True,
        running: Collection[str] = (),
    ) -> list[Claim]:
        """Claim up to `limit` ready Threads whose pinned definition the host can run.

        `first` is looked at first; `running` are the Threads that live in this process, which it
        never takes over from itself (S4).
        """

    def load(self, claim: Claim) -> Native:
        """Read what an adapter needs to rebuild the agent."""

    def renew(
        self, host_id: str, held: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], RenewAnswer]:
        """Renew the leases of the named (thread pk, token) pairs and stamp the Host (S3)."""

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """One atomic change by the owner.

        Repeating the same change id gives the same answer (S7).
        """

    def scan(self, host: HostIdentity, *, own: bool) -> ScanReport:
        """One idempotent look: releases what is due, counts lag and leaves a row.

        `own`: by the host's own thread.
        """

    def last_scan_age(self) -> float | None:
        """Seconds since anybody scanned, by database time; None when nobody ever did."""

    def living(self) -> list[LivingHost]:
        """Hosts that neither stopped in order nor were found dead, with their newest renewal."""

    def sweep(self, host: HostIdentity, dead: Sequence[LivingHost]) -> int:
        """Expire the leases of hosts found dead (S4).

        Unless they renewed since they were looked at.

        Gives the number of Threads freed; frees nothing during the grace after a gap in scanning.
        """


@dataclass(frozen=True, slots=True)
class HarnessCapabilities:
    """What a framework can do; two of these drive the scheduler."""

    partial_results: bool  # False: no wake before every open call of the round is settled
    mid_round_checkpoint: bool  # can re-enter with the response applied and no tool run
    model_outcomes: Literal["native", "wrapped", "none"]
    argument_deltas: bool = False
    steer: bool = True


@dataclass(frozen=True, slots=True)
class RunContext:
    """Scoped to one invocation and handed to the agent and its tools (R008, R254, R255)."""

    namespace: str
    session_id: str
    thread_id: str
    turn_id: str
    run_id: str
    definition: DefinitionKey


@dataclass(frozen=True, slots=True)
class Finished:
    """The adapter's answer: the Turn is done, `result` is the public final output (R076)."""

    result: JsonValue
    frame: FrameDraft | None = None
    entries: tuple[EntryDraft, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspended:
    """The adapter's answer: open calls, or wait conditions, need something from outside."""

    waits: tuple[WaitDraft, ...] = ()


InvocationEnd = Finished | Suspended


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """A completed model outcome: its private body and the facts observed."""

    body: JsonValue
    facts: ModelCallFacts


@dataclass(slots=True)
class Attempts:
    """Requests behind one logical one, filled in by an adapter that can see them (R067)."""

    requests: int | None = None
    level: Literal["PROVIDER_ATTEMPTS", "MODEL_CALL"] = "MODEL_CALL"


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """What a call that ran in this process gave.

    `error` set means that the model sees an error result.
    """

    content: JsonValue
    error_code: str | None = None
    error_text: str | None = None


class ExecutionHost(Protocol):
    """What an adapter may ask of the Brain during one invocation.

    Writing is buffered: `record_*`, `append`, `checkpoint`, `intend` and `mark_applied` fill the
    next commit, and
    `commit()` (or any call that needs one) sends it as one transaction. OwnershipLost ends the
    invocation from any
    of them: the adapter lets it pass and writes nothing more.
    """

    context: RunContext
    native: Native

    async def ask_model(
        self,
        *,
        ordinal: int,
        request: JsonValue,
        send: Callable[[], Awaitable[ModelOutcome]],
        path: str = "main",
        model: str = "",
        attempts: Attempts | None = None,
    ) -> JsonValue:
        """Give the body of outcome (turn, path, ordinal): the stored one, or what `send` brings.

        A stored outcome whose request digest differs raises `Diverged`. A fresh outcome goes into
        the next commit;
        nothing outside may happen before that commit (law 6). Counts a reasoning round and enforces
        its limit.
        """

    def append(self, *entries: EntryDraft) -> None:
        """Put journal entries into the next commit."""

    def checkpoint(self, frame: FrameDraft) -> None:
        """Put a checkpoint into the next commit.

        It contains all entries up to and with that commit.
        """

    def say(self, message: MessageDraft) -> None:
        """Put a completed public message of the assistant into the next commit."""

    def intend(self, *intents: IntentDraft) -> None:
        """Put tool intents into the next commit."""

    def mark_applied(self, *execution_ids: str) -> None:
        """State that the next commit's checkpoint contains these results."""

    def mark_inputs_applied(self, *signal_ids: str) -> None:
        """State that the next commit's checkpoint contains these inputs (S12)."""

    async def commit(self) -> None:
        """Send the buffer, if there is anything in it.

        Raises OwnershipLost, or Interrupted for pause, cancel, drain and an input of the buffer
        that was withdrawn meanwhile.
        """

    async def run_local(
        self, execution_id: str, body: Callable[[], Awaitable[ToolReturn]]
    ) -> CallFacts:
        """Run a local call once.

        A stored result is given back, else `body` runs under its start record and commits.
        """

    def call(self, call_id: str, ordinal: int, round_: int) -> CallFacts | None:
        """Facts of a call after its intent was committed."""

    def new_inputs(self) -> tuple[PendingInput, ...]:
        """Steers and injects that this boundary may take in.

        None while stored outcomes remain (S11).
        """


EXECUTION_HOST: Final[ContextVar[ExecutionHost]] = ContextVar("durable_execution_host")


def execution_host() -> ExecutionHost:
    """The host of the invocation that this code runs in, for agents and what they call (R255).

    `commit` is a safe boundary, `new_inputs` what the next request takes in, `ask_model` under a
    path of its own keeps a side call's outcome. Raises Invalid outside of an invocation.
    """
    try:
        return EXECUTION_HOST.get()
    except LookupError:
        msg = "no durable invocation runs here; an execution host is there only inside of one"
        raise Invalid(msg) from None


class HarnessAdapter(Protocol):
    """One agent framework. Every adapter passes the contract suite of `tests/contracts/harness`."""

    name: str
    format: int
    capabilities: HarnessCapabilities

    def framework(self) -> str:
        """Name and version of the framework, as stamped into checkpoints."""

    async def run(
        self,
        definition: Any,  # noqa: ANN401 - a Definition of the registry, which is a room above
        host: ExecutionHost,
    ) -> InvocationEnd:
        """Rebuild the agent from `host.native` and run it until it ends or needs the outside."""

    def check(self, native: Native, definition: DefinitionKey) -> None:
        """Raise Incompatible when a Run of this definition cannot go on from this state. Pure."""

    def settle(self, native: Native) -> tuple[tuple[EntryDraft, ...], FrameDraft | None]:
        """Native clean-up of a failed or cancelled Turn.

        A well-formed transcript for the next one (R161). Pure.
        """

    def read(self, body: JsonValue) -> Passage:
        """What a journal entry of this adapter asks for and answers (I33). Pure."""

    def history(self, native: Native) -> tuple[Message, ...]:
        """The history that the newest checkpoint contains, in the same terms. Pure."""

    def mend(
        self, native: Native, at: int, pieces: Sequence[Piece]
    ) -> tuple[EntryDraft, FrameDraft]:
        """An entry with these pieces from message `at` on, and the baseline that has it. Pure."""


@dataclass(frozen=True, slots=True)
class ExecutorCapabilities:
    """What an executor can be asked of an execution that it was given (R249)."""

    query: bool
    cancel: bool  # a wish; only a confirmation says that it stopped
    output: bool  # what it wrote, page by page


class Executor(Protocol):
    """Runs external executions of one route; commands leave through it after commit."""

    capabilities: ExecutorCapabilities

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """Publish one envelope within about a second.

        False means not confirmed, the scan sends it again.
        """


class Ledger(Protocol):
    """The ledger of the pools, for what an operator does in it."""

    def reconcile(self, asked: Reconciliation) -> str:
        """End an UNKNOWN there as it was verified; gives the state that stands.

        Raises NotFound, Conflict, Invalid and Unavailable; nothing was written then.
        """


class OwnExecutors(Protocol):
    """What a Brain process binds, starts and closes, because it brings updates itself (R193)."""

    def bind(self, receive: Callable[[str], str]) -> None:
        """Have updates given to `receive`, which raises Unavailable for one to bring again."""

    def start(self) -> None:
        """Begin. Raises Incompatible when it never can."""

    def drain(self) -> None:
        """Take on nothing more; what runs goes on (S24)."""

    def close(self) -> None:
        """End and close all that it opened; closing twice is harmless."""


class OwnExecutor(Executor, OwnExecutors, Protocol):
    """An executor that lives with a Brain process: it runs tools there, or fetches updates."""


class Outside(Protocol):
    """A store outside of the Brain's database that holds something of Sessions: a ledger, objects.

    Both raise Unavailable when it cannot be reached, and give counts by name, zeros left out.
    """

    def count(self, session_pk: str, executions: Sequence[str]) -> dict[str, int]:
        """How much it holds of this Session, whose external calls are `executions`."""

    def remove(self, session_pk: str, executions: Sequence[str]) -> dict[str, int]:
        """Remove all of it; again, it finds nothing. Raises Conflict for a call that still runs."""
