"""The envelopes between the houses: commands to Hands, updates to the Brain (R188).

Every envelope is one JSON document of at most 1 MiB with a version. Both ends read it with the
strict loader, and the receiver recomputes the request digest of a command. What is larger is an
object, and the envelope that names it has version 2, which an older reader refuses (R192).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, TypeAlias

from pydantic import AwareDatetime, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from hands_app.contract.binding import ToolBinding
from hands_app.contract.errors import InvalidEnvelope
from hands_app.contract.ids import new_id
from hands_app.contract.output import MAX_PAGE_BYTES, Offset, OutputPage
from hands_app.contract.queues import DEFAULT_NAMESPACE, NAMESPACE
from hands_app.contract.references import ObjectReference
from hands_app.contract.strict_json import ENVELOPE, JsonValue, canonical, digest, loads
from hands_app.contract.wire import Digest, Id, Route, Wire, decode

if TYPE_CHECKING:
    from datetime import datetime

Namespace = Annotated[str, StringConstraints(pattern=NAMESPACE)]
Tenant = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,127}$")]


class Origin(Wire):
    """Who made the call; kept through redelivery and a change of hosts (R176).

    `namespace` is the tenant's, as the Session's key has it; `scope` is where objects of the call
    are, the Session's own id in the Brain.
    """

    namespace: Tenant
    session_id: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    thread_id: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    turn_id: Id
    run_id: Id | None = None
    step_id: Id | None = None
    scope: Id | None = None


class ExecutionState(StrEnum):
    """How an execution ended, as far as anybody knows."""

    COMPLETED = "COMPLETED"
    """It ran to its end; the content is what it returned."""
    FAILED = "FAILED"
    """It did not do what was asked; the error says why. Nothing is in doubt."""
    CANCELLED = "CANCELLED"
    """It never started, or the tool confirmed that it stopped."""
    UNKNOWN = "UNKNOWN"
    """It was started and nobody can say how it ended; only evidence changes this."""


class ResultError(Wire):
    """Why there is no content: a stable code and a text fit for the model and for people."""

    code: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
    message: Annotated[str, StringConstraints(max_length=16_384)]


class ExecutionResult(Wire):
    """The payload of a `result` update.

    With a `body`, content and metadata are what may be shown where that object cannot be had; it
    holds both whole, as `{"content", "metadata"}`.
    """

    state: ExecutionState
    content: JsonValue = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    error: ResultError | None = None
    body: ObjectReference | None = None

    @model_validator(mode="after")
    def _error_fits_state(self) -> Self:
        if (self.error is None) != (self.state is ExecutionState.COMPLETED):
            message = "a result has an error unless it is COMPLETED"
            raise ValueError(message)
        return self

    def to_json(self) -> dict[str, JsonValue]:
        """Return the value under its wire names; only one with a body says so."""
        form = super().to_json()
        if self.body is None:
            del form["body"]
        return form


class Execute(Wire):
    """Run this call once, unless it is later than `not_after` (S8)."""

    kind: Literal["execute"] = "execute"
    version: Literal["1"] = "1"
    command_id: Id
    namespace: Namespace = DEFAULT_NAMESPACE
    execution_id: Id
    request_digest: Digest
    binding: ToolBinding
    arguments: dict[str, JsonValue]
    origin: Origin
    route: Route
    not_after: AwareDatetime

    @classmethod
    def of(
        cls,
        *,
        execution_id: str,
        binding: ToolBinding,
        arguments: dict[str, JsonValue],
        origin: Origin,
        not_after: datetime,
        command_id: str | None = None,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> Self:
        """Make a command with its digest; the route is the binding's.

        `namespace` is the deployment's, as in its queues' names; the tenant's is the origin's.
        """
        return cls(
            command_id=command_id or new_id("cmd_"),
            namespace=namespace,
            execution_id=execution_id,
            request_digest=request_digest(execution_id, binding, arguments, origin),
            binding=binding,
            arguments=arguments,
            origin=origin,
            route=binding.route,
            not_after=not_after,
        )

    @model_validator(mode="after")
    def _digest_fits_content(self) -> Self:
        expected = request_digest(self.execution_id, self.binding, self.arguments, self.origin)
        if self.request_digest != expected:
            kind, message = "request_digest", "the request digest differs from the content"
            raise PydanticCustomError(kind, message)
        if self.route != self.binding.route:
            kind, message = "binding_route", "the route differs from the binding's"
            raise PydanticCustomError(kind, message)
        return self


class ExecuteByReference(Wire):
    """The same where the arguments are too large for an envelope; it proves nothing by itself."""

    kind: Literal["execute"] = "execute"
    version: Literal["2"] = "2"
    command_id: Id
    namespace: Namespace = DEFAULT_NAMESPACE
    execution_id: Id
    request_digest: Digest
    binding: ToolBinding
    arguments: ObjectReference
    origin: Origin
    route: Route
    not_after: AwareDatetime

    def whole(self, arguments: dict[str, JsonValue]) -> Execute:
        """Return the command with its arguments; raises InvalidEnvelope when no digest fits."""
        members = {name: getattr(self, name) for name in Execute.model_fields}
        try:
            return Execute.model_validate({**members, "version": "1", "arguments": arguments})
        except ValidationError:
            message = f"the arguments of {self.execution_id} are not those that its digest names"
            raise InvalidEnvelope(message) from None


class Cancel(Wire):
    """Do not start, or stop if you can; a cancel that comes first leaves a tombstone (R185)."""

    kind: Literal["cancel"] = "cancel"
    version: Literal["1"] = "1"
    command_id: Id
    namespace: Namespace
    execution_id: Id
    request_digest: Digest
    route: Route


class Query(Wire):
    """Publish again what came after `after`, the contiguous prefix the Brain has (R186, R189)."""

    kind: Literal["query"] = "query"
    version: Literal["1"] = "1"
    command_id: Id
    namespace: Namespace
    execution_id: Id
    request_digest: Digest
    route: Route
    after: Annotated[int, Field(ge=0)] = 0


class Output(Wire):
    """Tell what the tool wrote from `offset` on, at most `limit` bytes of it (R190, R191)."""

    kind: Literal["output"] = "output"
    version: Literal["1"] = "1"
    command_id: Id
    namespace: Namespace
    execution_id: Id
    request_digest: Digest
    route: Route
    offset: Offset = 0
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_BYTES)] = MAX_PAGE_BYTES


class UpdateKind(StrEnum):
    """What an update tells; in brackets its payload."""

    ADMITTED = "admitted"
    """The ledger has it [`runnable`: whether the host that took it knows the tool]."""
    STARTED = "started"
    """The start record is written [`attempt`, `reason`]."""
    PROGRESS = "progress"
    """A sign of life of the tool [`message`, `fraction`, `data`], or [`cancel`: `accepted`]."""
    OUTPUT = "output"
    """Output can be read [`available`: bytes, `sealed`]."""
    RESULT = "result"
    """It ended, or became UNKNOWN, or an UNKNOWN found its evidence [an ExecutionResult]."""
    OBSERVED = "observed"
    """How an attempt ended whose execution had ended before [an ExecutionResult]; no change."""
    UNKNOWN_EXECUTION = "unknown-execution"
    """The answer to a query or cancel that the ledger cannot place; sequence 0."""
    PAGE = "page"
    """The answer to an output command [an OutputPage]; sequence 0."""


ANSWERS: Final = frozenset({UpdateKind.UNKNOWN_EXECUTION, UpdateKind.PAGE})
"""What is told to whoever asked and is no fact of the execution, so it has no sequence."""
OUTCOMES: Final = frozenset({UpdateKind.RESULT, UpdateKind.OBSERVED})
"""What has an ExecutionResult for a payload."""


class Update(Wire):
    """One fact about an execution; sequences count from 1 without gaps for each execution."""

    version: Literal["1", "2"] = "1"
    event_id: Id
    namespace: Namespace
    execution_id: Id
    request_digest: Digest
    route: Route
    sequence: Annotated[int, Field(ge=0)]
    kind: UpdateKind
    payload: dict[str, JsonValue] = Field(default_factory=dict)
    at: AwareDatetime

    @model_validator(mode="after")
    def _sequence_fits_kind(self) -> Self:
        if (self.sequence == 0) != (self.kind in ANSWERS):
            message = "answers, and nothing else, have the sequence 0"
            raise ValueError(message)
        if self.version != version_of(self.kind, self.payload):
            message = "version 2, and no other, has a payload with a body elsewhere"
            raise ValueError(message)
        return self

    def result(self) -> ExecutionResult:
        """Return the payload of `result` or `observed`; raise InvalidEnvelope for another."""
        if self.kind not in OUTCOMES:
            message = f"update {self.event_id} is no result but {self.kind}"
            raise InvalidEnvelope(message)
        return decode(ExecutionResult, canonical(self.payload))

    def page(self) -> OutputPage:
        """Return the payload of a `page`; raise InvalidEnvelope for another."""
        if self.kind is not UpdateKind.PAGE:
            message = f"update {self.event_id} is no page but {self.kind}"
            raise InvalidEnvelope(message)
        return decode(OutputPage, canonical(self.payload))


Control: TypeAlias = Cancel | Query | Output
Command: TypeAlias = Execute | ExecuteByReference | Control


def version_of(kind: UpdateKind, payload: dict[str, JsonValue]) -> Literal["1", "2"]:
    """Return the version of an update with this payload."""
    return "2" if kind in OUTCOMES and "body" in payload else "1"


def parse_execute(text: bytes | str) -> Execute | ExecuteByReference:
    """Read what came by a commands queue; raise InvalidJson or InvalidEnvelope."""
    if _member(text, "version") == "2":
        return decode(ExecuteByReference, text)
    return decode(Execute, text)


def parse_control(text: bytes | str) -> Control:
    """Read what came by a controls queue; raise InvalidJson or InvalidEnvelope."""
    match _member(text, "kind"):
        case "cancel":
            return decode(Cancel, text)
        case "query":
            return decode(Query, text)
        case "output":
            return decode(Output, text)
        case kind:
            message = f"no control: kind {kind!r}; use cancel, query or output"
            raise InvalidEnvelope(message)


def parse_update(text: bytes | str) -> Update:
    """Read what came by the updates queue; raise InvalidJson or InvalidEnvelope."""
    return decode(Update, text)


def _member(text: bytes | str, name: str) -> str:
    document = loads(text, limits=ENVELOPE)
    return str(document.get(name))[:32] if isinstance(document, dict) else "none"


def request_digest(
    execution_id: str, binding: ToolBinding, arguments: dict[str, JsonValue], origin: Origin
) -> str:
    """Return the digest over all that identifies a request: call, tool, arguments, origin."""
    return digest([execution_id, binding.digest, arguments, origin.to_json()])
