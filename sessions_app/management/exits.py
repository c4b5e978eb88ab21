"""Exit codes of `manage.py durable`, one list for code and help."""

from __future__ import annotations

from typing import Final

from sessions_app.contract.errors import (
    DurableError,
    Rejected,
    StaleSchema,
    Unavailable,
    WaitTimeout,
)
from sessions_app.contract.status import TurnStatus

DONE: Final = 0
FOUND: Final = 1
REJECTED: Final = 2
UNAVAILABLE: Final = 3
TIMEOUT: Final = 4
STALE_SCHEMA: Final = 5
OTHER: Final = 6
CANCELLED: Final = 7
INTERRUPTED: Final = 130

HELP: Final = (
    "Exit codes: 0 done; 1 the check found something, or the turn FAILED; 2 rejected, nothing was "
    "written; 3 unavailable, try again; 4 the wait timed out, the turn goes on; 5 the database is "
    "not migrated; 6 any other error of the runtime; 7 the turn was CANCELLED; 130 interrupted."
)


def of(error: DurableError) -> int:
    """The code of an error; its class decides."""
    match error:
        case Rejected():
            return REJECTED
        case Unavailable():
            return UNAVAILABLE
        case WaitTimeout():
            return TIMEOUT
        case StaleSchema():
            return STALE_SCHEMA
        case _:
            return OTHER


def of_turn(status: TurnStatus) -> int:
    """The code that tells how a Turn ended."""
    return {TurnStatus.FAILED: FOUND, TurnStatus.CANCELLED: CANCELLED}.get(status, DONE)
