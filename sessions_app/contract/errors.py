"""Every error that a caller of the runtime can meet, as one tree.

    DurableError
     ├─ Rejected        the caller's doing; nothing was written
     │   ├─ NotFound · Invalid · Forbidden · Unauthenticated
     │   │             └─ WrongAnswer
     │   ├─ Conflict
     │   │   └─ Closed          closed Session or Thread, or a terminal Turn
     │   └─ CursorExpired
     ├─ Unavailable     try again later; nothing is known to be written
     │   ├─ Busy            a lock stayed taken
     │   └─ RateLimited     this caller asks too often
     ├─ OwnershipLost   stop, commit nothing, release nothing
     ├─ Incompatible    another host may
     ├─ ObjectLost      a body of the past that nobody can read any more
     ├─ OutcomeUnknown  never repeat blindly
     ├─ BrokenTranscript  a history that no model would take; nothing of it was stored
     └─ WaitTimeout     names the Thread and the Turn

The class, not the call site, says whether to retry (`retryable`) and which stable `code` every
surface shows.
"""

from __future__ import annotations

from typing import ClassVar


class DurableError(Exception):
    """Root of the tree.

    `code` is stable on every surface, `retryable` says whether a repeat may help.
    """

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False


class Rejected(DurableError):
    """The request cannot be done as it stands; nothing was written."""

    code = "REJECTED"


class NotFound(Rejected):
    """No such thing, or not the caller's: both answer alike."""

    code = "NOT_FOUND"


class Invalid(Rejected):
    """The form of the request is wrong; its request id stays free."""

    code = "INVALID"


class WrongAnswer(Invalid):
    """The answer does not fit what is asked: an approval takes a decision and nothing else."""

    code = "WRONG_ANSWER"


class Forbidden(Rejected):
    """The caller may not do this."""

    code = "FORBIDDEN"


class Unauthenticated(Rejected):
    """Nobody is known to ask: no token, or one that is wrong, expired or revoked, all alike."""

    code = "UNAUTHENTICATED"


class Conflict(Rejected):
    """The state found does not allow it, or the request id was used with other content."""

    code = "CONFLICT"


class Closed(Conflict):
    """The Session or Thread is closed, or the Turn has ended."""

    code = "CLOSED"


class CursorExpired(Rejected):
    """Events below the cursor were pruned, or it belongs to another incarnation of the store."""

    code = "CURSOR_EXPIRED"


class Unavailable(DurableError):
    """Storage could not be reached or stayed busy within the bound.

    Repeat with the same request id.
    """

    code = "UNAVAILABLE"
    retryable = True


class Busy(Unavailable):
    """A lock stayed taken for as long as a caller waits.

    An owner comes again, this is no failure (S15).
    """


class RateLimited(Unavailable):
    """This caller asks more often than it may; `retry_after` says in how many whole seconds."""

    code = "RATE_LIMITED"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        """Say what is limited, and when to come again."""
        super().__init__(message)
        self.retry_after = retry_after


class OwnershipLost(DurableError):
    """Another token owns the Thread: stop, commit nothing, release nothing (law 4)."""

    code = "OWNERSHIP_LOST"


class Incompatible(DurableError):
    """This host cannot run the pinned definition or read the stored state.

    Another one may (R162).
    """

    code = "INCOMPATIBLE"


class ObjectLost(DurableError):
    """A stored body is missing, or is not what its digest says; the text names the digest.

    It is never delivered, and a repeat does not help. A store that is away is Unavailable instead.
    """

    code = "OBJECT_LOST"


class OutcomeUnknown(DurableError):
    """An effect may or may not have happened; it is never repeated blindly (law 7)."""

    code = "UNCERTAIN"


class BrokenTranscript(DurableError):
    """A call without its one result in place, or a result without its call (law 8).

    Nothing of it was stored. A history that was stored so is mended by `durable repair-transcript`.
    """

    code = "BROKEN_TRANSCRIPT"


class WaitTimeout(DurableError):
    """A wait ended before the Turn did; the Turn goes on (R022, R023)."""

    code = "TIMEOUT"
    retryable = True


class StaleSchema(DurableError):
    """The database has migrations to apply.

    The runtime refuses to start and never migrates by itself (R238).
    """

    code = "STALE_SCHEMA"
