"""What an exception means for the Turn: whether a new Run may help, and what may be shown of it.

Two layers with facts of their own (R157): retries of one model request belong to the model client,
a new Run belongs to the durable policy. This is the one table of the second (R151, R152).
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from sessions_app.contract.backend import Fail
from sessions_app.contract.errors import (
    BrokenTranscript,
    Closed,
    Conflict,
    DurableError,
    Incompatible,
    ObjectLost,
    OutcomeUnknown,
    Unavailable,
    WaitTimeout,
)

log = logging.getLogger(__name__)

Hook = Callable[[BaseException], bool | None]


class Diverged(DurableError):
    """A replayed request differs from the one whose outcome is stored; that outcome is not used."""

    code = "DIVERGED"


class IterationLimit(DurableError):
    """The Turn has asked the model as often as its round limit allows (R062)."""

    code = "ITERATION_LIMIT"


class TokenLimit(DurableError):
    """The Turn has used as many tokens as it may: those that are known, over all its Runs."""

    code = "TOKEN_LIMIT"


class Interrupted(DurableError):
    """The invocation has to stop at this safe boundary. No failure: nothing is charged (R162)."""

    code = "INTERRUPTED"

    def __init__(self, why: Literal["cancel", "pause", "drain", "withdrawn"]) -> None:
        """Say who wants it; `withdrawn`: the input that was about to be taken in is gone."""
        super().__init__(f"stopped at a safe boundary: {why}")
        self.why = why


_OURS_AGAIN: Final = (Unavailable, Conflict, WaitTimeout)
_OURS_FINAL: Final = (Closed, OutcomeUnknown, Incompatible)
_TOLD: Final = (
    Diverged,
    IterationLimit,
    TokenLimit,
    Incompatible,
    BrokenTranscript,
    ObjectLost,
)
"""Errors whose text we wrote ourselves, of counts, digests and call ids, so it may be shown."""

# 408 and 409 are what model providers use for time-outs and lock conflicts of their own.
_HTTP_AGAIN: Final = frozenset({408, 409, 425, 429})
_HTTP_ERROR: Final = 400
_HTTP_SERVER: Final = 500

_NETWORK: Final = frozenset(
    {
        ("httpx", "TransportError"),
        ("httpx2", "TransportError"),
        ("openai", "APIError"),  # one without a status came in the midst of a stream
        ("anthropic", "APIError"),
        ("pydantic_ai", "ModelConnectionError"),
        ("pydantic_ai", "ModelRateLimitError"),
        ("pydantic_ai", "ModelRequestTimeout"),
        ("pydantic_ai", "ModelServerError"),
        ("pydantic_ai", "ModelUnavailableError"),
        ("redis", "ConnectionError"),
        ("redis", "TimeoutError"),
        ("django", "OperationalError"),
        ("django", "InterfaceError"),
        ("http", "HTTPException"),
    }
)
"""Top package and class of errors that say: the way or the other side, not the request."""

_REFUSED: Final = frozenset(
    {("pydantic_ai", "ModelRequestRejectedError"), ("pydantic_ai", "ModelQuotaExceededError")}
)
"""The same of errors that say: this request, whenever it comes. Told in a stream, no status."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an exception means, in words that may be shown to anybody."""

    code: str
    retryable: bool
    status: int | None = None


def failure_of(error: BaseException, hook: Hook | None = None) -> Fail:
    """Describe a failed invocation for the store; details stay in the log (law 10).

    `hook` is the definition's own opinion on whether to retry. It is never asked about an effect
    whose outcome is unknown (R156).
    """
    cause = _telling(error)
    verdict = judge(error)
    name = type(cause).__name__
    text = name if verdict.status is None else f"{name} (status {verdict.status})"
    if isinstance(cause, _TOLD):
        text = f"{name}: {cause}"
    retryable = verdict.retryable if hook is None else _opinion(hook, error, verdict)
    return Fail(error_class=name, code=verdict.code, text=text, retryable=retryable)


def trace(error: BaseException) -> str:
    """Where an error came from, for the log: classes and code lines, never its message (law 10).

    Messages of clients and databases quote prompts, rows and keys.
    """
    parts: list[str] = []
    for cause in _chain(error):
        parts += [type(cause).__name__, "\n", *traceback.format_tb(cause.__traceback__)]
    return "".join(parts).rstrip()


def judge(error: BaseException) -> Verdict:
    """The default classification: the first cause in the chain that says anything decides."""
    if isinstance(error, BaseExceptionGroup):
        return _judge_group(error)
    for cause in _chain(error):
        verdict = _verdict(cause)
        if verdict is not None:
            return verdict
    return Verdict("ERROR", retryable=False)


def _judge_group(group: BaseExceptionGroup[BaseException]) -> Verdict:
    """Several at once: the first that must not be repeated decides, else the first."""
    verdicts = [judge(error) for error in group.exceptions]
    return next((verdict for verdict in verdicts if not verdict.retryable), verdicts[0])


def _verdict(error: BaseException) -> Verdict | None:
    if isinstance(error, DurableError):
        again = isinstance(error, _OURS_AGAIN) and not isinstance(error, _OURS_FINAL)
        return Verdict(error.code, retryable=again)
    status = _status(error)
    if status is not None:
        return _of_status(status)
    if isinstance(error, TimeoutError):
        return Verdict("TIMEOUT", retryable=True)
    if _is_one_of(error, _REFUSED):
        return Verdict("REJECTED", retryable=False)
    if isinstance(error, OSError | EOFError) or _is_one_of(error, _NETWORK):
        return Verdict("IO_ERROR", retryable=True)
    return None


def _of_status(status: int) -> Verdict:
    if status < _HTTP_ERROR:
        return Verdict("IO_ERROR", retryable=True)  # the stream had begun well, then it told this
    again = status in _HTTP_AGAIN or status >= _HTTP_SERVER
    return Verdict(f"HTTP_{status}", retryable=again, status=status)


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error carries, itself or on its response, as client libraries do."""
    for carrier in (error, getattr(error, "response", None)):
        status = getattr(carrier, "status_code", None)
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def _is_one_of(error: BaseException, listed: frozenset[tuple[str, str]]) -> bool:
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(error).__mro__}
    return not kinds.isdisjoint(listed)


def _opinion(hook: Hook, error: BaseException, verdict: Verdict) -> bool:
    if any(isinstance(cause, OutcomeUnknown) for cause in _leaves(error)):
        return False
    try:
        opinion = hook(error)
    except Exception as broken:  # noqa: BLE001 # outermost: of a callback that is not ours
        log.error("is_retryable raised, the default holds: %s", trace(broken))  # noqa: TRY400 - no message of its own
        return verdict.retryable
    return verdict.retryable if opinion is None else bool(opinion)


def _telling(error: BaseException) -> BaseException:
    """The cause to name: the first in the chain that decides, else the error itself."""
    leaves = list(_leaves(error))
    return next((cause for cause in leaves if _verdict(cause) is not None), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Every exception that takes part, groups opened, outermost first."""
    for cause in _chain(error):
        if isinstance(cause, BaseExceptionGroup):
            for inner in cause.exceptions:
                yield from _leaves(inner)
        else:
            yield cause


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, outermost first."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__
