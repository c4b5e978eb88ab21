"""The tree of errors of the Hands house, with the stable code of each.

HandsError
├─ Rejected            the caller's doing; the same request can never succeed
│  ├─ InvalidJson      text or value that is no strict JSON
│  ├─ InvalidEnvelope  a command or update that breaks its schema, version or size
│  ├─ InvalidArguments a call that fails the tool's schema
│  ├─ Conflict         the same identity with other content
│  ├─ Forbidden        the worker's policy refuses it
│  │  ├─ ForeignNamespace  it belongs to another deployment
│  │  └─ WrongRoute        it belongs to another pool
│  ├─ NotFound         no such execution
│  ├─ TooLarge         more than an object may hold
│  └─ BadReference     an object that cannot be had
│     ├─ ObjectForeign   of another store or scope
│     ├─ ObjectMissing   not there
│     └─ ObjectDamaged   not the bytes that its digest names
├─ Unavailable         try again later
├─ OwnershipLost       another owner has it: stop, write nothing, release nothing
├─ Incompatible        this process cannot, another may
│  └─ SchemaMismatch    the ledger's schema is not the one of this code
└─ OutcomeUnknown      never repeat blindly
"""

from __future__ import annotations

from typing import ClassVar


class HandsError(Exception):
    """Root of the tree; the class, not the call site, says whether to try again."""

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False


class Rejected(HandsError):
    """The request is wrong in itself."""

    code = "INVALID"


class InvalidJson(Rejected):
    """A text or value that cannot be kept as strict JSON.

    `reason` is a stable word (`SYNTAX`, `DUPLICATE_KEY`, `NUMBER`, `NUL`, `SURROGATE`, `DEPTH`,
    `SIZE`, `KEYS`, `TYPE`); `where` is a JSON pointer, an offset or the offending token.
    """

    def __init__(self, reason: str, where: str, advice: str = "") -> None:
        """Say what is wrong, where, and what to do instead."""
        super().__init__(f"{reason} at {where}{': ' if advice else ''}{advice}")
        self.reason = reason
        self.where = where


class InvalidEnvelope(Rejected):
    """A command or update that breaks its schema, its version or the size limit.

    `kinds` are stable words for what is wrong; none of them is of the message's own.
    """

    def __init__(self, message: str, kinds: tuple[str, ...] = ()) -> None:
        """Say what is wrong."""
        super().__init__(message)
        self.kinds = kinds


class InvalidArguments(Rejected):
    """The arguments fail the tool's frozen schema; the message tells the model what to mend."""


class Conflict(Rejected):
    """The same identity was used with other content."""

    code = "CONFLICT"


class Forbidden(Rejected):
    """The worker's policy refuses the command before any ledger access (R181)."""

    code = "FORBIDDEN"


class ForeignNamespace(Forbidden):
    """A command of another deployment (T22)."""


class WrongRoute(Forbidden):
    """A command for another pool."""


class NotFound(Rejected):
    """The ledger knows no such execution."""

    code = "NOT_FOUND"


class TooLarge(Rejected):
    """A body that no envelope and no object may hold."""

    code = "TOO_LARGE"


class BadReference(Rejected):
    """An object that cannot be had by this reference; the text names its digest, never a place."""

    code = "OBJECT_BAD"


class ObjectForeign(BadReference):
    """The reference is of another store or scope than the one that may be read here (T36)."""

    code = "OBJECT_FOREIGN"


class ObjectMissing(BadReference):
    """The store is there and has no such object."""

    code = "OBJECT_MISSING"


class ObjectDamaged(BadReference):
    """What lies in its place has another digest; it is delivered to nobody (C74)."""

    code = "OBJECT_DAMAGED"


class Unavailable(HandsError):
    """The ledger or the broker cannot be reached in bounded time; try again later."""

    code = "UNAVAILABLE"
    retryable = True


class OwnershipLost(HandsError):
    """Another owner holds the execution: stop, write nothing, release nothing."""

    code = "OWNERSHIP_LOST"


class Incompatible(HandsError):
    """This process cannot run it; another one may."""

    code = "INCOMPATIBLE"


class SchemaMismatch(Incompatible):
    """The ledger's schema is older, newer or missing; the text names the step that helps."""


class OutcomeUnknown(HandsError):
    """It may or may not have happened; only evidence may end the doubt."""

    code = "UNCERTAIN"
