"""Looking: how every read meets the database, and how lists are cut into pages by key."""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from django.db import (
    DataError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)
from django.db.models import Model, QuerySet

from sessions_app.contract.errors import Invalid, Unavailable
from sessions_app.contract.paging import Page, checked_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Model)

ODD_TEXT: Final = (
    "a name or text is longer than it may be, or no database can keep it (NUL, half a pair)"
)
_ATTEMPTS: Final = 2
_ONE_MOMENT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


def look(read: Callable[P, T]) -> Callable[P, T]:
    """Make a read that asks a fresh connection once when its own broke, then raises Unavailable.

    Inside a caller's transaction or a snapshot it asks once: what was read there before would be
    gone.
    """

    @wraps(read)
    def looked(*args: P.args, **kwargs: P.kwargs) -> T:
        joined = connection.in_atomic_block or _in_snapshot()
        for attempt in range(1, _ATTEMPTS + 1):
            if not joined:
                close_old_connections()
            try:
                return read(*args, **kwargs)
            except (DataError, UnicodeEncodeError) as error:
                raise Invalid(ODD_TEXT) from error
            except (OperationalError, InterfaceError) as error:
                if joined or attempt == _ATTEMPTS:
                    msg = (
                        "the database cannot be reached or is busy; nothing was changed, try again"
                    )
                    raise Unavailable(msg) from error
                connection.close()
        raise AssertionError

    return looked


@contextmanager
def snapshot() -> Iterator[None]:
    """Read several statements as of one moment and hold nobody up (S19).

    Inside a caller's transaction its own view has to do. On SQLite the transaction begins deferred,
    since `atomic()` would take the one write lock.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        _say("BEGIN DEFERRED")
        try:
            yield
        finally:
            _say("ROLLBACK")
    else:
        with transaction.atomic():
            _say(_ONE_MOMENT)
            yield


def _in_snapshot() -> bool:
    """Whether the transaction of `snapshot()` on SQLite is open, which Django knows nothing of."""
    return bool(getattr(connection.connection, "in_transaction", False))


def _say(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def page(
    rows: QuerySet[M],
    of: str,
    by: str,
    cursor: str | None,
    limit: int,
    view: Callable[[M], T],
) -> Page[T]:
    """One page of a list, in the order of the unique column `by`; `of` names the list.

    A cursor of another list is Invalid: it would skip what the reader never saw.
    """
    wanted = checked_limit(limit)
    if cursor is not None:
        rows = rows.filter(**{f"{by}__gt": _decode(cursor, of, str if by == "id" else int)})
    found = list(rows.order_by(by)[: wanted + 1])
    shown = found[:wanted]
    more = len(found) > wanted
    return Page(tuple(map(view, shown)), _encode(of, getattr(shown[-1], by)) if more else None)


def _encode(of: str, last: str | int) -> str:
    raw = json.dumps([of, last], separators=(",", ":"))
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _decode(text: str, of: str, kind: type[str | int]) -> str | int:
    try:
        name, last = json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, TypeError, UnicodeError):
        name = last = None
    if name != of or type(last) is not kind:
        msg = "cursor is not one of this list; take it from a page of it, or leave it out to begin"
        raise Invalid(msg)
    return last
