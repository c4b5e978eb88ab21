"""The Content-Security-Policy of pages that bring none: all comes from here, nothing is inline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADER: Final = "Content-Security-Policy"

Now: TypeAlias = Callable[[HttpRequest], HttpResponseBase]
Later: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def content_security_policy(get_response: Now | Later) -> Now | Later:
    """Add the policy to every response that has none: stored text can then run nowhere (C78)."""
    if iscoroutinefunction(get_response):
        return _later(cast("Later", get_response))
    return _now(cast("Now", get_response))


def _later(get_response: Later) -> Later:
    async def answer(request: HttpRequest) -> HttpResponseBase:
        return _with_policy(await get_response(request))

    return answer


def _now(get_response: Now) -> Now:
    def answer(request: HttpRequest) -> HttpResponseBase:
        return _with_policy(get_response(request))

    return answer


def _with_policy(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault(_HEADER, POLICY)
    return response
