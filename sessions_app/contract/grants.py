"""Who may do what: roles, the operations that each of them covers, and who somebody is.

Everything is closed: an identity may what its roles name, in the namespaces that it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from sessions_app.contract.decisions import checked_actor
from sessions_app.contract.errors import Forbidden, Invalid, NotFound
from sessions_app.contract.identity import checked_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime


class Operation(StrEnum):
    """What can be done, as coarse as it is granted."""

    READ = "read"
    STREAM = "stream"
    SUBMIT = "submit"  # make Sessions and Threads, ask for Turns
    CONTROL = "control"  # steer, inject, withdraw, pause, resume, cancel, signal, close
    APPROVE = "approve"  # answer interactions
    OPERATE = "operate"  # release, re-pin, rules, retention
    HOST = "host"  # what a Brain does, by the privileged API alone


class Role(StrEnum):
    """What a token or an account is for."""

    VIEWER = "viewer"
    AUTHOR = "author"
    APPROVER = "approver"
    OPERATOR = "operator"
    HOST = "host"


MAX_RATE: Final = 1_000_000
LONGEST_NAME: Final = 100
"""So that an actor's name has room for it."""
_VIEW: Final = frozenset({Operation.READ, Operation.STREAM})
GRANTED: Final[Mapping[Role, frozenset[Operation]]] = {
    Role.VIEWER: _VIEW,
    Role.AUTHOR: _VIEW | {Operation.SUBMIT, Operation.CONTROL},
    Role.APPROVER: _VIEW | {Operation.APPROVE},
    Role.OPERATOR: frozenset(Operation) - {Operation.HOST},
    Role.HOST: frozenset({Operation.HOST}),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks. `subject` goes on record as the actor of what they do."""

    subject: str
    roles: frozenset[Role]
    namespaces: frozenset[str] | None = frozenset()
    """Tenants that it sees; None: all."""
    grant_id: str | None = None
    """Of the token that it came with; None for an account."""
    rate: float | None = None
    """Requests a second that this token may make; None: as the deployment says."""

    def may(self, operation: Operation) -> bool:
        """Whether any role covers an operation."""
        return any(operation in GRANTED[role] for role in self.roles)

    def sees(self, namespace: str) -> bool:
        """Whether a tenant is its own."""
        return self.namespaces is None or namespace in self.namespaces

    def check(self, operation: Operation, namespace: str | None) -> None:
        """Raise NotFound for a foreign namespace, as for an unknown one, and Forbidden.

        Without a namespace the role alone decides: what is asked then is of the deployment.
        """
        if namespace is not None and not self.sees(namespace):
            msg = "there is nothing at this address"
            raise NotFound(msg)
        if not self.may(operation):
            msg = f"this needs a role that may {operation}; {self.subject} has {_named(self.roles)}"
            raise Forbidden(msg)


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as operators see it; its secret is nowhere."""

    token_id: str
    name: str
    roles: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class TokenDraft:
    """A token to make; without namespaces it sees all, without an end it holds until revoked."""

    name: str
    roles: frozenset[Role]
    by: str
    namespaces: frozenset[str] | None = None
    expires_at: datetime | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Raise Invalid for unsafe names, no roles, and an end without a time zone."""
        if len(checked_name("token name", self.name)) > LONGEST_NAME:
            msg = f"a token name has at most {LONGEST_NAME} characters"
            raise Invalid(msg)
        checked_actor(self.by)
        for namespace in self.namespaces or ():
            checked_name("namespace", namespace)
        roles(self.roles)
        if self.expires_at is not None and self.expires_at.utcoffset() is None:
            msg = f"expires_at {self.expires_at} has no time zone; give one"
            raise Invalid(msg)
        if self.rate is not None and not 0 < self.rate <= MAX_RATE:
            msg = f"a rate is above 0 and at most {MAX_RATE} requests a second"
            raise Invalid(msg)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made: the one time that its secret is told."""

    token: TokenView
    secret: str = field(repr=False)


def roles(names: Iterable[str]) -> frozenset[Role]:
    """Return the roles of these names; raises Invalid for none and for one that is not known.

    A Brain's token has no other role, so that what runs agents can never approve what they ask.
    """
    found = set()
    for name in names:
        try:
            found.add(Role(name))
        except ValueError:
            known = ", ".join(Role)
            msg = f"{name!r:.40} is no role; known: {known}"
            raise Invalid(msg) from None
    if not found or (Role.HOST in found and len(found) > 1):
        msg = "give at least one role, and host alone"
        raise Invalid(msg)
    return frozenset(found)


def _named(given: frozenset[Role]) -> str:
    return ", ".join(sorted(given)) or "none"
