"""The database's clock, which decides every lease and deadline (law 5, S18)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import text

if TYPE_CHECKING:
    from sqlalchemy import Connection

_POSTGRESQL = text("SELECT clock_timestamp()")
_SQLITE = text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")


def database_now(connection: Connection) -> datetime:
    """Return the time now, not the time of the transaction's beginning."""
    if connection.dialect.name == "sqlite":
        moment: str = connection.execute(_SQLITE).scalar_one()
        return datetime.fromisoformat(moment).replace(tzinfo=UTC)
    now: datetime = connection.execute(_POSTGRESQL).scalar_one()
    return now.astimezone(UTC)
