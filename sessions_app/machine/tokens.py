"""Tokens: made and revoked, each with its audit entry (T6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Invalid
from sessions_app.models import AuditEntry, Token

if TYPE_CHECKING:
    from sessions_app.contract.grants import TokenDraft
    from sessions_app.machine.change import Change


def create(change: Change, name: str, digest: str, asked: TokenDraft) -> Token:
    """A token of this id, from now on; raises Invalid for one that would never hold."""
    if asked.expires_at is not None and asked.expires_at <= change.now:
        msg = f"a token until {asked.expires_at} would never hold; name a time to come, or none"
        raise Invalid(msg)
    namespaces = None if asked.namespaces is None else sorted(asked.namespaces)
    token = Token(
        id=name,
        name=asked.name,
        digest=digest,
        roles=",".join(sorted(asked.roles)),
        namespaces=namespaces,
        rate=asked.rate,
        created_by=asked.by,
        created_at=change.now,
        expires_at=asked.expires_at,
    )
    change.add(token, _audited(change, token, asked.by, "token.created"))
    return token


def revoke(change: Change, token: Token, by: str) -> None:
    """Let nobody in by it from now on; twice is once."""
    if token.revoked_at is not None:
        return
    token.revoked_at, token.revoked_by = change.now, by
    change.add(_audited(change, token, by, "token.revoked"))


def _audited(change: Change, token: Token, by: str, action: str) -> AuditEntry:
    return AuditEntry(
        id=change.new_id("aud_"),
        actor=by,
        action=action,
        target=token.id,
        after={"name": token.name, "roles": token.roles, "namespaces": token.namespaces},
        at=change.now,
    )
