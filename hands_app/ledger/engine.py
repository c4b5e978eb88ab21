"""Connections and transactions: how SQLite and PostgreSQL are opened, and one change is made."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hands_app.contract.errors import Unavailable
from hands_app.contract.faults import declare, faultpoint
from hands_app.ledger.clock import database_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime

    from sqlalchemy import URL, Connection

OPERATIONS: Final = (
    "admit",
    "cancel",
    "claim",
    "release",
    "start",
    "finish",
    "progress",
    "output",
    "renew",
    "recover",
    "batch",
    "reconcile",
    "sweep",
    "publish",
    "purge",
    "prune",
    "host",
    "refuse",
)
"""Every kind of commit; each has a fault point on either side of it."""

declare(*(f"hands.{name}.{side}_commit" for name in OPERATIONS for side in ("before", "after")))

BUSY_SECONDS: Final = 20
_POSTGRESQL_SETTINGS: Final = (
    "SET lock_timeout = '5s'; SET statement_timeout = '15s';"
    "SET idle_in_transaction_session_timeout = '60s'; SET TIME ZONE 'UTC'"
)
_SQLITE_SETTINGS: Final = (
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)


class Database:
    """An opened ledger database; `clock` is the one function by which a test may set the time."""

    def __init__(
        self, url: str, *, clock: Callable[[Connection], datetime] = database_now, pool: int = 4
    ) -> None:
        self.url: Final = normal_url(url)
        self.clock = clock
        self.engine = _engine(self.url, pool)
        self.is_sqlite: Final = self.url.get_backend_name() == "sqlite"
        # One writer a process on SQLite: threads queue here instead of polling the file lock (S21).
        self._writer: AbstractContextManager[object] = (
            threading.Lock() if self.is_sqlite else nullcontext()
        )

    @contextmanager
    def change(self, operation: str, *, durable: bool = True) -> Iterator[Connection]:
        """Give a connection whose work commits as one when the block ends.

        Args:
            operation: one of OPERATIONS; names the fault points around the commit.
            durable: False lets a crash of PostgreSQL forget the commit: renewals and marks only.

        Raises:
            Unavailable: the database cannot be reached, or a lock or statement took too long.
        """
        with self._writer, _translated(), self.engine.connect() as connection:
            with connection.begin():
                if not durable and not self.is_sqlite:
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                yield connection
                faultpoint(f"hands.{operation}.before_commit")
            faultpoint(f"hands.{operation}.after_commit")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that reads in one transaction and changes nothing."""
        with _translated(), self.engine.connect() as connection:
            reading = connection.execution_options(hands_reading=True)
            with reading.begin():
                yield reading

    def close(self) -> None:
        """Close all connections of this process."""
        self.engine.dispose()


def normal_url(url: str) -> URL:
    """Return the URL with the driver that we use; raise ValueError for another database."""
    parsed = make_url(url)
    match parsed.drivername.partition("+")[0]:
        case "sqlite":
            return parsed.set(drivername="sqlite+pysqlite")
        case "postgres" | "postgresql":
            return parsed.set(drivername="postgresql+psycopg")
        case other:
            message = f"the ledger lives in SQLite or PostgreSQL, not in {other}"
            raise ValueError(message)


def _engine(url: URL, pool: int) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(
            url,
            hide_parameters=True,  # arguments and results are nobody's business but theirs
            pool_size=pool,
            max_overflow=0,
            connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        )
        event.listen(engine, "connect", _open_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=pool,
        max_overflow=0,
        pool_timeout=5,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "application_name": "hands"},
    )
    event.listen(engine, "connect", _open_postgresql)
    return engine


def _open_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
    """Take transactions into our own hands and set what S21 asks for."""
    connection.isolation_level = None
    for setting in _SQLITE_SETTINGS:
        connection.execute(setting)


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("hands_reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _open_postgresql(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
    connection.execute(_POSTGRESQL_SETTINGS)
    connection.commit()


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what a database does when it cannot now into Unavailable; let bugs pass."""
    try:
        yield
    except PoolTimeout as error:
        message = "no free connection to the ledger in time"
        raise Unavailable(message) from error
    except DBAPIError as error:
        if isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated:
            message = f"the ledger cannot be used now ({type(error.orig).__name__})"
            raise Unavailable(message) from error
        raise
