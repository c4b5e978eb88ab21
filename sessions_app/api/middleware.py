"""What Django itself refuses below `/api/` is a problem body too: no page, no traceback words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from sessions_app.api.problems import MEDIA_TYPE, problem

Now: TypeAlias = Callable[[HttpRequest], HttpResponseBase]
Later: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponseBase]]
_PREFIXES: Final = ("/api/", "/responses")
_FIRST_REFUSAL: Final = 400
_DETAILS: Final = {
    404: "there is nothing at this address",
    405: "this address has other methods; see Allow",
    413: "the body is larger than this server takes",
    500: "the server could not do it; its log says why",
}


@sync_and_async_middleware
def speak_problems(get_response: Now | Later) -> Now | Later:
    """Say every refusal of an API address as RFC 9457 does."""
    if iscoroutinefunction(get_response):
        return _later(cast("Later", get_response))
    return _now(cast("Now", get_response))


def _later(get_response: Later) -> Later:
    async def answer(request: HttpRequest) -> HttpResponseBase:
        return _spoken(request, await get_response(request))

    return answer


def _now(get_response: Now) -> Now:
    def answer(request: HttpRequest) -> HttpResponseBase:
        return _spoken(request, get_response(request))

    return answer


def _spoken(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    status = response.status_code
    if not request.path.startswith(_PREFIXES) or status < _FIRST_REFUSAL:
        return response
    if response.headers.get("Content-Type") == MEDIA_TYPE:
        return response
    said = problem(status, _DETAILS.get(status, "the request cannot be taken"))
    if "Allow" in response.headers:
        said["Allow"] = response["Allow"]
    return said
