"""Who a request is of, and whether they may: a port that a host can replace (R116, R128)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.module_loading import import_string

from sessions_app.contract.errors import Forbidden, Unauthenticated
from sessions_app.contract.grants import Identity, Role
from sessions_app.store import tokens

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User
    from django.http import HttpRequest, HttpResponse

    from sessions_app.contract.grants import Operation

_ACCOUNT: Final = "user:"
_SCHEME: Final = "Bearer "
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_NOBODY: Final = "send `Authorization: Bearer` with a token; `durable token create` makes one"


class Authorizer(Protocol):
    """What every request of the API goes through."""

    def identify(self, request: HttpRequest) -> Identity:
        """Say who asks; raises Unauthenticated, or Forbidden for a request of another site."""

    def authorize(
        self,
        identity: Identity,
        operation: Operation,
        namespace: str | None,
        session_id: str | None = None,
    ) -> None:
        """Raise NotFound for what is not theirs to see, Forbidden for what they may not do.

        Without a namespace the operation is on the deployment.
        """

    def recheck(self, identity: Identity) -> Identity:
        """Say who they are now, for streams that live long; raises Unauthenticated (T12)."""


class TokenAuthorizer:
    """Tokens by header, and staff that is signed in to the admin, with CSRF (T8)."""

    def identify(self, request: HttpRequest) -> Identity:
        """A token goes before an account: a program may run in a browser that is signed in."""
        header = request.headers.get("Authorization")
        if header is not None:
            if not header.startswith(_SCHEME):
                raise Unauthenticated(_NOBODY)
            return tokens.identify(header.removeprefix(_SCHEME).strip())
        return self._signed_in(request)

    def authorize(
        self,
        identity: Identity,
        operation: Operation,
        namespace: str | None,
        session_id: str | None = None,  # noqa: ARG002 - a host's own authorizer may look at it
    ) -> None:
        """By role and namespace alone."""
        identity.check(operation, namespace)

    def recheck(self, identity: Identity) -> Identity:
        """A token that was revoked lets nobody go on, nor an account that is staff no more."""
        if identity.grant_id is not None:
            now = tokens.holds(identity.grant_id)
        else:
            name = identity.subject.removeprefix(_ACCOUNT)
            now = _staff(get_user_model().objects.filter(username=name).first())
        if now is None:
            msg = "what let you in holds no more"
            raise Unauthenticated(msg)
        return now

    def _signed_in(self, request: HttpRequest) -> Identity:
        identity = _staff(cast("User | AnonymousUser | None", getattr(request, "user", None)))
        if identity is None:
            raise Unauthenticated(_NOBODY)
        if request.method not in _SAFE and (why := _CsrfCheck.refusal(request)):
            msg = f"a request of a signed-in browser needs its CSRF token: {why}"
            raise Forbidden(msg)
        return identity


def _staff(user: User | AnonymousUser | None) -> Identity | None:
    """Who an account is: superusers operate, other staff look on, nobody else comes in."""
    if user is None or not (user.is_authenticated and user.is_active and user.is_staff):
        return None
    role = Role.OPERATOR if user.is_superuser else Role.VIEWER
    return Identity(f"{_ACCOUNT}{user.get_username()}", frozenset({role}), namespaces=None)


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, asked for by hand: the API's views are exempt, since tokens need none."""

    @classmethod
    def refusal(cls, request: HttpRequest) -> str | None:
        """Why the request may be another site's, or nothing."""
        check = cls(lambda _request: cast("HttpResponse", None))
        check.process_request(request)
        return cast("str | None", check.process_view(request, _nothing, (), {}))

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:  # noqa: ARG002 - Django's signature
        return cast("HttpResponse", reason)


def _nothing(_request: HttpRequest) -> HttpResponse:
    raise AssertionError


@cache
def current() -> Authorizer:
    """The authorizer that settings name."""
    return cast("Authorizer", import_string(settings.DURABLE["AUTHORIZER"])())
