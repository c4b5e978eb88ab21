"""What an operator has to bring to end an UNKNOWN, for either house (R199, R202).

Nothing of it has a default. It travels by no queue: whoever has a shell or the host's own code
hands it to the house whose database has the execution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import InvalidJson, Rejected
from hands_app.contract.messages import ExecutionResult, ExecutionState, ResultError
from hands_app.contract.strict_json import Limits, canonical, check

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

CODE: Final = "VERIFIED"
"""Error code of a FAILED or CANCELLED that an operator verified."""
METADATA: Final = {"reconciled": True}
"""What tells a verified result from one that its tool gave."""

_RESULT: Final = Limits(bytes=768 * 1024)
_REQUEST_LENGTH: Final = 128
_ACTOR_LENGTH: Final = 128
_EVIDENCE_LENGTH: Final = 2000
_MESSAGE_LENGTH: Final = 16_000


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The request to end one UNKNOWN.

    `expected` is the state that the operator saw, `result` the outcome that was verified outside,
    `evidence` names where that can be looked up (a ticket, a provider's record), `operator` is who
    answers for it. `request_id` makes a repeat harmless.
    """

    request_id: str
    execution_id: str
    expected: str
    result: ExecutionResult
    evidence: str
    operator: str

    def __post_init__(self) -> None:
        """Raise Rejected for what is missing, too long, or expects another state than UNKNOWN."""
        _text("request id", self.request_id, _REQUEST_LENGTH)
        _text("evidence", self.evidence, _EVIDENCE_LENGTH)
        _text("operator", self.operator, _ACTOR_LENGTH)
        if self.expected != ExecutionState.UNKNOWN:
            message = f"only an execution in state UNKNOWN is reconciled, not {self.expected!r:.40}"
            raise Rejected(message)
        if self.result.state is ExecutionState.UNKNOWN:
            message = "a verified result is COMPLETED, FAILED or CANCELLED; UNKNOWN proves nothing"
            raise Rejected(message)
        canonical(self.result.to_json(), limits=_RESULT)

    @property
    def content(self) -> JsonValue:
        """What makes it the same request; who asks is for the audit and no part of it."""
        return [self.execution_id, self.result.to_json(), self.evidence]


def verified(state: str, *, content: JsonValue = None, message: str = "") -> ExecutionResult:
    """Make the result of a verification.

    `content` is what a COMPLETED call would have returned, `message` what the model is told of one
    that FAILED or was CANCELLED. That nobody could find out is FAILED too, and the message says so.
    Raises Rejected (InvalidJson) for a state that is no end, a missing message, or no strict JSON.
    """
    if state not in {"COMPLETED", "FAILED", "CANCELLED"}:
        text = f"a verified result is COMPLETED, FAILED or CANCELLED, not {state!r:.40}"
        raise Rejected(text)
    ended = ExecutionState(state)
    if ended is ExecutionState.COMPLETED:
        if message:
            text = "a COMPLETED call has content and no message"
            raise Rejected(text)
        return ExecutionResult(state=ended, content=check(content), metadata=dict(METADATA))
    if content is not None:
        text = f"a call that is {state} has a message and no content"
        raise Rejected(text)
    error = ResultError(code=CODE, message=_text("message", message, _MESSAGE_LENGTH))
    return ExecutionResult(state=ended, error=error, metadata=dict(METADATA))


def is_reconciled(result: ExecutionResult) -> bool:
    """Whether a result says that an operator verified it."""
    return result.metadata.get("reconciled") is True


def _text(what: str, value: object, longest: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        message = f"the {what} is a text of 1 to {longest} characters and has no default"
        raise Rejected(message)
    try:
        check(value)
    except InvalidJson as error:
        message = f"the {what} is no plain text: {error}"
        raise Rejected(message) from None
    return value
