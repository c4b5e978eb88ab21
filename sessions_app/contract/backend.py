"""What passes between the Brain and the store: claims, native state, commits and their answers.

These are the privileged types of the `SessionBackend` port; nothing of them is ever public (R129).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from hands_app.contract.strict_json import JsonValue
from sessions_app.contract.content import Wire
from sessions_app.contract.status import CallState, CheckpointKind, EntryKind, SignalKind, StepPhase

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sessions_app.contract.identity import DefinitionKey, ThreadKey


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """One living process. The id is random; host names are never identities (law 4)."""

    host_id: str
    role: str
    hostname: str
    pid: int
    build: str
    definitions: tuple[DefinitionKey, ...] = ()
    resolves: tuple[str, ...] = ()  # agents of which it may have any version
    digests: Mapping[str, str] = field(default_factory=dict)  # content of each definition, by key
    limits: Mapping[str, tuple[int, int | None]] = field(
        default_factory=dict
    )  # rounds and tokens of one Turn of each definition


@dataclass(frozen=True, slots=True)
class LivingHost:
    """A host as a sweeper looks at it: its presence lock and its newest renewal."""

    host_id: str
    presence_key: int
    seen_at: datetime
    draining: bool = False  # an operator told it to claim nothing more


@dataclass(frozen=True, slots=True)
class Claim:
    """Proof of ownership: an invocation may commit only with the token that is current (R165)."""

    thread_pk: str
    session_pk: str
    turn_id: str
    run_id: str
    token: str
    key: ThreadKey
    definition: DefinitionKey
    lease_expires_at: datetime
    takeover: bool  # the former owner died or lost its lease
    suspect: bool = (
        False  # it took more than one process down (S5): a process runs one such Turn at a time
    )
    changed: bool = False  # the definition has other content than this Thread began with (C39)
    settling: bool = (
        False  # failed for good, effects are settled: clean up and end it, invoke nothing (R161)
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One journal entry as stored.

    `position` counts in the Thread; `ordinal` in the Turn's logical path (S11).
    """

    position: int
    kind: EntryKind
    turn_id: str
    body: JsonValue
    path: str = "main"
    ordinal: int | None = None
    request_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A checkpoint's private frame (R131).

    Everything that has to fit before native recovery may begin.
    """

    position: int
    kind: CheckpointKind
    format: int
    harness: str
    framework: str
    definition: DefinitionKey
    body: JsonValue
    digest: str


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A tool call of this Turn as the store knows it."""

    execution_id: str
    call_id: str
    ordinal: int
    round: int
    name: str
    arguments: JsonValue
    route: str
    effect: str
    state: CallState
    started: bool
    result: JsonValue = None
    applied: bool = False
    allowed: bool = False  # it may begin: nobody has to allow it, or somebody did (I35)


@dataclass(frozen=True, slots=True)
class PendingInput:
    """A steer, inject or signal that was admitted and not yet applied."""

    signal_id: str
    kind: SignalKind
    text: str
    content: JsonValue
    key: str | None = None  # of an x.* signal that ended a wait of the adapter


@dataclass(frozen=True, slots=True)
class Native:
    """All that an adapter needs to rebuild the agent.

    The Turn's input, the journal and the newest checkpoint.

    Entries with a position above `frame.position` are stored outcomes that no checkpoint contains
    yet: they
    are replayed, never asked again (law 6).
    """

    turn_input: JsonValue
    frame: Frame | None
    entries: tuple[Entry, ...]
    calls: tuple[CallFacts, ...]
    inputs: tuple[PendingInput, ...] = ()
    rounds: int = 0
    round_limit: int | None = 0  # None: nobody has known the definition's limits yet
    tokens: int = 0  # known ones of all its model calls
    token_limit: int | None = None
    cancel: bool = False  # wishes of people, as `Committed` tells of them
    pause: bool = False


class EntryDraft(Wire):
    """A journal entry to append; the store gives its position, and a large body a place."""

    kind: EntryKind
    body: JsonValue
    object_ref: str | None = None  # set by the store alone, as in the next two
    path: str = "main"
    ordinal: int | None = None
    request_digest: str | None = None


class FrameDraft(Wire):
    """The new checkpoint; it contains every entry appended up to and with this commit.

    Never null (R132).
    """

    kind: CheckpointKind = CheckpointKind.BOUNDARY
    format: int
    harness: str
    framework: str
    body: JsonValue
    object_ref: str | None = None


class ModelCallFacts(Wire):
    """One logical model request as observed; unknown counts are None, never zero (R064, R066).

    FAILED: the provider refused it. LOST: nobody heard a whole answer, it may have been given.
    """

    path: str = "main"
    ordinal: int
    request_digest: str
    model: str
    status: Literal["COMPLETED", "FAILED", "LOST"] = "COMPLETED"
    requests: int | None = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    duration_ms: int | None = None
    error_code: str | None = None
    level: Literal["PROVIDER_ATTEMPTS", "MODEL_CALL"] = "MODEL_CALL"


class MessageDraft(Wire):
    """The logical message `ordinal` of the Turn, complete: its public parts (R071, R072, R076).

    `replayed`: an earlier Run stored the outcome, and somebody may have seen previews of it.
    `final`: the Turn's output, which may replace the text that was said before.
    """

    ordinal: int
    parts: tuple[JsonValue, ...]
    replayed: bool = False
    final: bool = False


def text_part(text: str) -> JsonValue:
    """Words as a public part of a message."""
    return {"type": "text", "text": text}


class IntentDraft(Wire):
    """A tool call that the model asked for.

    `start` makes the start record in the same commit (S10).
    """

    call_id: str
    ordinal: int
    name: str
    arguments: JsonValue
    binding: dict[str, JsonValue]
    route: str
    effect: str
    needs_approval: bool = False
    start: bool = False


class ResultDraft(Wire):
    """The outcome of a call that ran in this process."""

    execution_id: str
    state: CallState
    content: JsonValue = None
    error_code: str | None = None
    error_text: str | None = None
    object_ref: str | None = None


class Go(Wire):
    """The invocation goes on and keeps its lease."""

    kind: Literal["go"] = "go"
    phase: StepPhase | None = None  # close the open Step and begin one of this phase


class Finish(Wire):
    """The Turn is done."""

    kind: Literal["finish"] = "finish"
    result: JsonValue


class WaitDraft(Wire):
    """A wait condition: its key, and the absolute deadline in ms since 1970; 0: signal only (R146).

    What ends it is an input of the Turn: the signal, or one that says that the deadline passed.
    """

    key: str
    deadline_ms: Annotated[int, Field(ge=0)] = 0


class Park(Wire):
    """Nothing more to do here until results, answers or signals arrive: give lease and slot back.

    A wait whose key is open already stays as it is, so that a repeated park opens nothing twice.
    """

    kind: Literal["park"] = "park"
    waits: tuple[WaitDraft, ...] = ()


class Fail(Wire):
    """The invocation raised, or only settles.

    `settled` is the clean native state; `shown` says how each call stood when it was made.
    """

    kind: Literal["fail"] = "fail"
    error_class: str
    code: str
    text: str
    retryable: bool
    settled: FrameDraft | None = None
    settled_entries: tuple[EntryDraft, ...] = ()
    shown: dict[str, CallState] = Field(default_factory=dict)


class HandOver(Wire):
    """Give the Thread to another host: drain, or this build cannot run it."""

    kind: Literal["hand-over"] = "hand-over"
    reason: Literal["drain", "incompatible"]
    detail: str = ""


End = Annotated[Go | Finish | Park | Fail | HandOver, Field(discriminator="kind")]


class Commit(Wire):
    """One atomic change by the owner (law 2, R138).

    `change_id` is made by the caller before the commit (S7).
    """

    change_id: str
    entries: tuple[EntryDraft, ...] = ()
    frame: FrameDraft | None = None
    model_calls: tuple[ModelCallFacts, ...] = ()
    messages: tuple[MessageDraft, ...] = ()
    intents: tuple[IntentDraft, ...] = ()
    starts: tuple[str, ...] = ()  # execution ids whose start record this commit makes
    results: tuple[ResultDraft, ...] = ()
    applied: tuple[str, ...] = ()  # execution ids whose results the frame contains
    inputs_applied: tuple[str, ...] = ()  # signal ids that the frame contains
    end: End = Field(default_factory=Go)


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit stands. What the owner has to know before it goes on."""

    position: int
    last_sequence: int
    cancel: bool = False
    pause: bool = False
    inputs: tuple[PendingInput, ...] = ()
    execution_ids: dict[str, str] = field(default_factory=dict)  # "call_id:ordinal" -> execution id
    started: tuple[str, ...] = ()  # execution ids with a start record of this lease and no outcome
    went_on: bool = False  # a finish found an open steer: take another step instead (S12)


@dataclass(frozen=True, slots=True)
class Lost:
    """Another token owns the Thread now; nothing was written (law 4)."""

    reason: str = "superseded"


@dataclass(frozen=True, slots=True)
class Stale:
    """An input that the change takes in was withdrawn first; nothing was written (R041).

    The owner keeps its lease and begins again from what is stored.
    """

    inputs: tuple[str, ...]


CommitAnswer = Committed | Lost | Stale
RenewAnswer = Literal["renewed", "locked", "superseded"]


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What one scan saw and did."""

    found: int
    repaired: dict[str, int]
    lag_seconds: float
