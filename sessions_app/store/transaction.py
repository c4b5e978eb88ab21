"""The spine: one change of a Session is lock, load, decide, write; the bell rings after commit.

    def body(unit: Unit) -> Receipt:
        session = unit.lock_session(key)
        return admission.submit(unit.change, session, ...)

    receipt = run("turn.submit", body)

Law 2 in one place: the Session's lock first, then reads, then decisions, then sequences, then
writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)

from hands_app.contract.faults import declare, faultpoint
from sessions_app.contract.errors import Busy, Invalid, Unavailable
from sessions_app.store import bell, joining
from sessions_app.store.looking import ODD_TEXT
from sessions_app.store.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.models import Thread

T = TypeVar("T")

ATTEMPTS: Final = 5
_PASSING: Final = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_BUSY: Final = frozenset({"55P03", "57014"})  # lock timeout, statement timeout
OPERATIONS: Final = (
    "turn.submit",
    "turn.control",
    "rule.change",
    "token.change",
    "session.create",
    "session.close",
    "session.prune",
    "session.purge",
    "thread.repair",
    "thread.repin",
    "brain.claim",
    "brain.load",
    "brain.commit",
    "brain.release",
    "hands.intake",
    "hands.delivery",
    "hands.output",
    "host.presence",
    "scan.record",
    "objects.adopt",
    "objects.sweep",
)
for _operation in OPERATIONS:
    declare(f"{_operation}.after_lock", f"{_operation}.before_commit", f"{_operation}.after_commit")


def run(operation: str, body: Callable[[Unit], T]) -> T:
    """Run `body` in one transaction and give what it returns.

    `body` may run several times (deadlock, serialization failure, a connection that broke): it has
    no effect outside the database, and what it writes is found again by its request id, change id
    or token (S7, C20). Inside a caller's `atomic()` it joins as a savepoint and runs once (S14).
    Raises Unavailable when the database cannot be reached or stays busy, and Invalid for a text
    that it cannot keep; whatever `body` raises passes through. Nothing is written then.
    """
    if connection.in_atomic_block:
        return _joined(operation, body)
    try:
        return _repeated(operation, body)
    except (DataError, UnicodeEncodeError) as error:
        raise Invalid(ODD_TEXT) from error


def _repeated(operation: str, body: Callable[[Unit], T]) -> T:
    for attempt in range(1, ATTEMPTS + 1):
        close_old_connections()
        try:
            answer = _attempt(operation, body)
        except (OperationalError, InterfaceError, IntegrityError) as error:
            _again_or_raise(operation, error, attempt)
        else:
            faultpoint(f"{operation}.after_commit")
            return answer
    msg = f"{operation}: the database refused {ATTEMPTS} attempts in a row; try again"
    raise Unavailable(msg)


def _joined(operation: str, body: Callable[[Unit], T]) -> T:
    try:
        with transaction.atomic(), joining.limits():
            return _attempt(operation, body)
    except (DataError, UnicodeEncodeError) as error:
        raise Invalid(ODD_TEXT) from error
    except (OperationalError, InterfaceError) as error:
        msg = f"{operation}: the session is busy or the database is away; nothing of it was written"
        raise Unavailable(msg) from error


def _attempt(operation: str, body: Callable[[Unit], T]) -> T:
    with transaction.atomic():
        unit = Unit(operation)
        answer = body(unit)
        unit.write()
        for thread in unit.due():
            # robust: a hook that raises never shows a caller an error after its commit (S14)
            transaction.on_commit(_ringing(thread), robust=True)
        if unit.sends():
            transaction.on_commit(bell.ring_outbox, robust=True)
        faultpoint(f"{operation}.before_commit")
    return answer


def _ringing(thread: Thread) -> Callable[[], None]:
    """Make a hook that has a name, which Django asks a failing one for; a partial has none."""

    def ring() -> None:
        bell.ring(thread.id, thread.pin)

    return ring


def _again_or_raise(operation: str, error: Exception, attempt: int) -> None:
    """Let the same body run again for what passes by itself.

    A lock that stayed taken is Unavailable.
    """
    state = sqlstate(error)
    if state in _BUSY or (connection.vendor == "sqlite" and "locked" in str(error)):
        msg = f"{operation}: the session is busy; nothing was written, try again"
        raise Busy(msg) from error
    if isinstance(error, IntegrityError):
        # Two creators of one name: the second attempt finds the first one's row.
        if attempt > 1:
            raise error
        return
    if state in _PASSING:
        return
    connection.close()
    if attempt > 1:  # one fresh connection was asked whether the change is there (S7)
        msg = (
            f"{operation}: the database cannot be reached; what was asked "
            "is repeated safely, try again"
        )
        raise Unavailable(msg) from error


def sqlstate(error: BaseException | None) -> str | None:
    """SQLSTATE of a PostgreSQL error, if it has one."""
    while error is not None:
        found: Any = getattr(error, "sqlstate", None)
        if found is not None:
            return str(found)
        error = error.__cause__
    return None
