"""References to objects: what an envelope or a row says instead of a large body (R192, R245).

An object is immutable and named by the digest of its bytes, inside one scope, which is a Session.
Nobody chooses a key, so there is nothing to guess, to overwrite or to climb out of (T36).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import Field

from hands_app.contract.errors import BadReference
from hands_app.contract.strict_json import OBJECT
from hands_app.contract.wire import Digest, Id, Wire

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

_STORED: Final = re.compile(r"1:(?P<digest>sha256:[0-9a-f]{64}):(?P<size>[0-9]{1,12})")


class ObjectReference(Wire):
    """Where a body is and what it has to be: the store and scope, its digest, its size in bytes.

    `store` is the identity that a store was given when it was made, so that two processes see
    whether theirs is the same one.
    """

    version: Literal["1"] = "1"
    store: Id
    scope: Id
    digest: Digest
    size: Annotated[int, Field(ge=0, le=OBJECT.bytes)]

    @property
    def stored(self) -> str:
        """The text for a row of the scope, which itself says the store and the scope."""
        return f"{self.version}:{self.digest}:{self.size}"

    @classmethod
    def of_row(cls, text: str, *, store: str, scope: str) -> Self:
        """Read what a row holds; raises BadReference for another version or form."""
        found = _STORED.fullmatch(text)
        if found is None:
            message = "a stored reference has a form or version that this code does not know"
            raise BadReference(message)
        size = int(found["size"])
        return cls(store=store, scope=scope, digest=found["digest"], size=size)


def digest_of(stored: str) -> str:
    """Return the digest that the text of a row names."""
    return stored[2:].rpartition(":")[0]


def described(reference: ObjectReference) -> dict[str, JsonValue]:
    """Return what the public is told of a body that is an object: nothing of it, and no place."""
    return {"stored": True, "bytes": reference.size, "digest": reference.digest}
