"""Tokens: made, found by their secret, revoked; nothing that lets anybody in is stored."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from django.db.models import Q

from hands_app.contract.ids import new_id
from sessions_app.contract.decisions import checked_actor
from sessions_app.contract.errors import NotFound, Unauthenticated
from sessions_app.contract.grants import Identity, NewToken, Role, TokenView
from sessions_app.machine import tokens
from sessions_app.models import Token
from sessions_app.store import clock
from sessions_app.store.looking import look, page
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from datetime import datetime

    from sessions_app.contract.grants import TokenDraft
    from sessions_app.contract.paging import Page
    from sessions_app.store.unit import Unit

PREFIX: Final = "dst_"
"""Lets scanners for leaked secrets know one."""
_BYTES: Final = 32
_USE_SECONDS: Final = 60
_LONGEST: Final = 128
_TOLD: Final = 8
"""Characters of its id that tell a token from others of the same name."""


def create(asked: TokenDraft) -> NewToken:
    """Make a token (audited); its secret is told once, here."""
    name = new_id("tok_")  # both made before the commit, whose answer may be lost (S7)
    secret = PREFIX + secrets.token_urlsafe(_BYTES)

    def body(unit: Unit) -> Token:
        known = Token.objects.filter(pk=name).first()
        return known or tokens.create(unit.change, name, _digest(secret), asked)

    return NewToken(_view(run("token.change", body)), secret)


def revoke(token_id: str, by: str) -> TokenView:
    """Let nobody in by it from now on (audited); twice is once. Raises NotFound."""
    who = checked_actor(by)

    def body(unit: Unit) -> Token:
        row = Token.objects.select_for_update(no_key=True).filter(pk=token_id).first()
        if row is None:
            msg = f"token {token_id} was not found; `durable token list` shows all"
            raise NotFound(msg)
        tokens.revoke(unit.change, unit.watch(row), who)
        return row

    return _view(run("token.change", body))


@look
def listed(cursor: str | None = None, limit: int = 100, *, past: bool = False) -> Page[TokenView]:
    """Tokens that hold, the oldest first; with `past` those that did."""
    over = Q(revoked_at__isnull=False) | Q(expires_at__lte=clock.now())
    rows = Token.objects.filter(over if past else ~over)
    return page(rows, f"tokens {past}", "id", cursor, limit, _view)


@look
def identify(secret: str) -> Identity:
    """Whose token this is; raises Unauthenticated for every other text, all alike.

    It is looked for by its hash, so how long that takes says nothing about a secret.
    """
    row = Token.objects.filter(digest=_digest(secret)).first() if _shaped(secret) else None
    now = clock.now()
    if row is None or _is_over(row, now):
        msg = "the token is not known here, or holds no more"
        raise Unauthenticated(msg)
    _used(row, now)
    return _identity(row)


@look
def holds(token_id: str) -> Identity | None:
    """The identity of a token as it stands now, or None when it holds no more (T12)."""
    row = Token.objects.filter(pk=token_id).first()
    return None if row is None or _is_over(row, clock.now()) else _identity(row)


def _used(row: Token, now: datetime) -> None:
    """Note the use, once a minute: a request must not cost a commit."""
    if row.used_at is None or now - row.used_at >= timedelta(seconds=_USE_SECONDS):
        Token.objects.filter(pk=row.pk).update(used_at=now)


def _is_over(row: Token, now: datetime) -> bool:
    return row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now)


def _shaped(secret: str) -> bool:
    return secret.startswith(PREFIX) and len(secret) <= _LONGEST and secret.isascii()


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _identity(row: Token) -> Identity:
    return Identity(
        subject=f"token:{row.name}#{row.id[-_TOLD:]}",  # names may repeat, over tenants too
        roles=frozenset(map(Role, row.roles.split(","))),
        namespaces=None if row.namespaces is None else frozenset(row.namespaces),
        grant_id=row.id,
        rate=row.rate,
    )


def _view(row: Token) -> TokenView:
    return TokenView(
        token_id=row.id,
        name=row.name,
        roles=tuple(row.roles.split(",")),
        namespaces=None if row.namespaces is None else tuple(row.namespaces),
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
        rate=row.rate,
    )
