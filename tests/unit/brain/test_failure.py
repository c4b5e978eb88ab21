"""Which exceptions a new Run may help against, and what of them may be shown (R151, R152, R156)."""

from __future__ import annotations

import anthropic
import httpx2
import openai
import pytest
from django.db import OperationalError
from pydantic_ai import exceptions

from sessions_app.brain.failure import Diverged, IterationLimit, failure_of, judge
from sessions_app.contract.errors import (
    Closed,
    Conflict,
    Invalid,
    OutcomeUnknown,
    Unavailable,
)
from tests.covers import covers


def named(error: object) -> str:
    """A test is named by the kind of its error."""
    return f"{type(error).__name__}-{getattr(error, 'status_code', '')}".strip("-")


SECRET = "sk-live-1234567890"
REQUEST = httpx2.Request("POST", f"https://user:{SECRET}@provider.example/v1")


def answered(status: int) -> httpx2.Response:
    """An answer of a provider."""
    return httpx2.Response(status, request=REQUEST)


class StatusError(Exception):
    """As provider libraries raise it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}, key {SECRET}")
        self.status_code = status


RETRYABLE = [
    TimeoutError(),
    ConnectionResetError(),
    OSError(28, "no space left"),
    EOFError(),
    Unavailable("busy"),
    Conflict("changed meanwhile"),
    OperationalError("server closed the connection"),
    httpx2.ConnectError("refused"),
    httpx2.ReadTimeout("slow"),
    openai.APIConnectionError(request=REQUEST),
    *(StatusError(status) for status in (408, 409, 425, 429, 500, 502, 503, 529)),
]
RETRYABLE += [httpx2.HTTPStatusError("busy", request=REQUEST, response=answered(503))]
RETRYABLE += [
    openai.RateLimitError("slow down", response=answered(429), body=None),
    openai.InternalServerError("oops", response=answered(500), body=None),
    openai.APITimeoutError(request=REQUEST),
    openai.APIError("overloaded", REQUEST, body=None),
    anthropic.RateLimitError("slow down", response=answered(429), body=None),
    anthropic.InternalServerError("overloaded", response=answered(529), body=None),
    anthropic.APIStatusError("told in the stream", response=answered(200), body=None),
    anthropic.APIConnectionError(request=REQUEST),
    exceptions.ModelHTTPError(503, "m"),
    exceptions.ModelConnectionError("m", "reset", phase="read"),
    exceptions.ModelOverloadedError("m", "told in the stream", in_stream=True),
    exceptions.ModelServerError("m", "told in the stream", in_stream=True),
]
DEFINITE = [
    ValueError("a bug"),
    KeyError("a bug"),
    AssertionError(),
    Closed("ended"),
    Invalid("wrong form"),
    OutcomeUnknown("who knows"),
    Diverged("another request"),
    IterationLimit("50 rounds"),
    *(StatusError(status) for status in (400, 401, 403, 404, 413, 422)),
    openai.BadRequestError("no", response=answered(400), body=None),
    openai.AuthenticationError("no", response=answered(401), body=None),
    anthropic.NotFoundError("no", response=answered(404), body=None),
    exceptions.ModelHTTPError(422, "m"),
    exceptions.ModelContextWindowExceededError("m", "told in the stream", in_stream=True),
    exceptions.ModelQuotaExceededError("m", "told in the stream", in_stream=True),
    exceptions.UnexpectedModelBehavior("no output"),
]


@covers("R152")
@pytest.mark.parametrize("error", RETRYABLE, ids=named)
def test_r152_passing_trouble_is_retryable(error: Exception) -> None:
    """I/O, time-outs, networks, 429, 5xx and our own UNAVAILABLE and CONFLICT are tried again."""
    assert judge(error).retryable


@covers("R152")
@pytest.mark.parametrize("error", DEFINITE, ids=named)
def test_r152_definite_errors_are_not_retryable(error: Exception) -> None:
    """Programming errors and definite client errors are not tried again."""
    assert not judge(error).retryable


@covers("R152")
def test_r152_a_rejection_counts_and_not_what_it_was_told_by() -> None:
    """The framework says what an error in a stream means, its cause only that there was one."""
    error = exceptions.ModelRequestRejectedError("m", "told in the stream", in_stream=True)
    error.__cause__ = openai.APIError("invalid", REQUEST, body=None)

    assert not judge(error).retryable
    assert failure_of(error).code == "REJECTED"


@covers("R152")
def test_r152_the_cause_counts_when_the_error_itself_says_nothing() -> None:
    """A framework's own error around a network failure is judged by that failure."""
    error = RuntimeError("agent failed")
    error.__cause__ = httpx2.ConnectError("refused")

    assert judge(error).retryable
    assert failure_of(error).error_class == "ConnectError"


@covers("R152")
def test_r152_of_several_at_once_a_definite_one_decides() -> None:
    """A group of parallel failures is tried again only when each of them may pass by itself."""
    assert judge(ExceptionGroup("tools", [TimeoutError(), OSError()])).retryable
    assert not judge(ExceptionGroup("tools", [TimeoutError(), ValueError()])).retryable


@pytest.mark.parametrize("error", [*RETRYABLE, *DEFINITE], ids=named)
def test_law_10_a_failure_shows_class_and_status_only(error: Exception) -> None:
    """No message, address or key of a client reaches the public record."""
    failure = failure_of(error)

    assert SECRET not in failure.model_dump_json()
    assert failure.error_class == type(error).__name__


def test_a_status_is_the_code() -> None:
    """The stable code names the status that a provider answered with."""
    failure = failure_of(StatusError(503))

    assert failure.code == "HTTP_503"
    assert failure.text == "StatusError (status 503)"


@covers("R156")
def test_r156_a_definition_may_judge_otherwise() -> None:
    """Its hook overrides both ways; None means no opinion."""
    assert failure_of(ValueError(), lambda _error: True).retryable
    assert not failure_of(TimeoutError(), lambda _error: False).retryable
    assert failure_of(TimeoutError(), lambda _error: None).retryable


@covers("R156")
def test_r156_no_hook_repeats_an_unknown_effect() -> None:
    """Whether an effect with an unknown outcome is repeated is nobody's opinion."""
    wrapped = ExceptionGroup("tools", [OutcomeUnknown("who knows")])

    assert not failure_of(OutcomeUnknown("who knows"), lambda _error: True).retryable
    assert not failure_of(wrapped, lambda _error: True).retryable


def test_a_hook_that_raises_changes_nothing() -> None:
    """The default holds when the definition's opinion itself breaks."""

    def broken(_error: BaseException) -> bool:
        raise KeyError

    assert failure_of(TimeoutError(), broken).retryable
