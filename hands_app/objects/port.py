"""What both houses ask of a store of large bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import timedelta

    from hands_app.contract.references import ObjectReference


class ObjectStore(Protocol):
    """Immutable objects by digest, each inside one scope (R245).

    A scope or digest that is none of ours raises ObjectForeign everywhere.
    Every method raises Unavailable when the store cannot be reached; that is no statement about an
    object. Any number of threads and processes may use a store at once.
    """

    @property
    def identity(self) -> str:
        """Name that the store was given when it was made, the same for everybody who sees it."""

    def put(self, scope: str, body: bytes) -> ObjectReference:
        """Keep a body; durable when this returns, and young again if it was there before.

        Raises TooLarge.
        """

    def get(self, reference: ObjectReference, *, scope: str) -> bytes:
        """Give the bytes, held against size and digest.

        Raises ObjectForeign for a reference of another scope or store, ObjectMissing,
        ObjectDamaged.
        """

    def stat(self, reference: ObjectReference, *, scope: str) -> int:
        """Size in bytes of what lies there, unread. Raises ObjectForeign, ObjectMissing."""

    def scopes(self, behind: str, limit: int) -> list[str]:
        """The next scopes that hold anything, in an order of the store's own; "" begins."""

    def digests(self, scope: str, *, age: timedelta | None = None) -> list[str]:
        """Digests of a scope's objects; only those put no later than `age` ago."""

    def remove(self, scope: str, digests: Collection[str], *, age: timedelta | None = None) -> int:
        """Delete objects, with `age` only those still that old; says how many went.

        Whether anything refers to them is the caller's to know.
        """

    def tidy(self, age: timedelta) -> int:
        """Delete what puts that never ended left behind, once it is that old."""
