"""Refusals as RFC 9457 problem bodies: the error tree's stable codes, one status for each."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse
from ninja.errors import HttpError, ValidationError
from pydantic import BaseModel, ConfigDict, Field

from hands_app.contract.errors import InvalidJson
from sessions_app.contract import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest
    from ninja import NinjaAPI

_log = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
STATUSES: Final[Mapping[type[errors.DurableError], int]] = {
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.WrongAnswer: 409,  # of the state: what is asked says which answers there are
    errors.CursorExpired: 410,
    errors.RateLimited: 429,
    errors.Rejected: 400,
    errors.Unavailable: 503,
    errors.StaleSchema: 503,
    errors.WaitTimeout: 504,
    errors.OwnershipLost: 409,
    errors.Incompatible: 409,
    errors.BrokenTranscript: 409,
    errors.OutcomeUnknown: 500,
}
"""By the nearest class of the tree; what is not here is 500."""
_TITLES: Final = {
    400: "The request is wrong",
    401: "Authentication is needed",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    409: "The state found does not allow it",
    410: "The cursor has expired",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "Too many requests",
    500: "An error of ours",
    503: "Try again later",
    504: "Nothing came in time",
}
_CODES: Final = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 413: "TOO_LARGE", 500: "INTERNAL"}
RETRY_SECONDS: Final = 1


class Problem(BaseModel):
    """Why a request was refused; `code` is stable, `detail` is for people."""

    model_config = ConfigDict(frozen=True)

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    retryable: bool = Field(description="whether the same request may succeed later")


class UnsupportedMedia(errors.Invalid):
    """A body that is not announced as JSON."""

    code = "UNSUPPORTED_MEDIA_TYPE"


def problem(
    status: int, detail: str, code: str | None = None, *, retryable: bool = False
) -> HttpResponse:
    """Answer with a problem body."""
    title = _TITLES.get(status, "Refused")
    code = code or _CODES.get(status, "REJECTED")
    said = Problem(title=title, status=status, code=code, detail=detail, retryable=retryable)
    response = HttpResponse(json.dumps(said.model_dump()), status=status, content_type=MEDIA_TYPE)
    if status == 401:  # noqa: PLR2004 - as RFC 9110 names it
        response["WWW-Authenticate"] = "Bearer"
    return response


def of_error(error: errors.DurableError) -> HttpResponse:
    """Answer with what an error of the tree says."""
    if isinstance(error, UnsupportedMedia):
        return problem(415, str(error), error.code)
    kinds = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    status = next(kinds, 500)
    if status == 500:  # noqa: PLR2004 - details stay in the log
        _log.error("a request failed with %s", error.code, exc_info=error)
        return problem(500, "the server could not do it; its log says why", error.code)
    response = problem(status, str(error), error.code, retryable=error.retryable)
    if error.retryable:
        response["Retry-After"] = str(getattr(error, "retry_after", None) or RETRY_SECONDS)
    return response


def install(api: NinjaAPI) -> None:
    """Let an API answer every refusal so."""
    for kind, answer in _HANDLERS.items():
        api.add_exception_handler(kind, answer)


def _durable(_request: HttpRequest, error: errors.DurableError) -> HttpResponse:
    return of_error(error)


def _json(_request: HttpRequest, error: InvalidJson) -> HttpResponse:
    return problem(400, f"the body is refused: {error}", "INVALID")


def _form(_request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Name the first place that does not fit, never what stood there."""
    first = error.errors[0]
    where = ".".join(str(part) for part in first["loc"] if part not in {"body", "query", "path"})
    return problem(400, f"{where or 'the body'} does not fit: {first['msg']}", "INVALID")


def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    """What Ninja raises itself, which is about bodies that its parser did not take."""
    match error.__cause__:
        case errors.DurableError() as cause:
            return of_error(cause)
        case InvalidJson() as cause:
            return _json(request, cause)
        case _:
            return problem(error.status_code, str(error), "INVALID")


def _too_big(_request: HttpRequest, _error: RequestDataTooBig) -> HttpResponse:
    return problem(413, "the body is larger than this server takes", "TOO_LARGE")


def _bug(_request: HttpRequest, error: Exception) -> HttpResponse:
    _log.error("a request met a bug", exc_info=error)
    return problem(500, "the server could not do it; its log says why")


_HANDLERS: Final[dict[type[Exception], Any]] = {
    Exception: _bug,
    errors.DurableError: _durable,
    InvalidJson: _json,
    ValidationError: _form,
    HttpError: _http,
    RequestDataTooBig: _too_big,
}
