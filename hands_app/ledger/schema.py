"""The schema: changed only by an explicit command, checked at every start (R238)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from hands_app.contract.errors import SchemaMismatch

if TYPE_CHECKING:
    from hands_app.ledger.engine import Database

VERSION_TABLE: Final = "hands_schema_version"
_MIGRATING: Final = 0x48414E45


def migrate(database: Database) -> None:
    """Bring the schema to the newest version; several at once wait for each other.

    Raises:
        SchemaMismatch: it is newer than this code, which leaves it as it is.
        Unavailable: the database cannot be reached.
    """
    config = _config()
    _see_that_it_is_ours(_found(database))
    with database.engine.connect() as connection, connection.begin():
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(database: Database) -> None:
    """Return when the schema is the one this code expects.

    Raises:
        SchemaMismatch: it is older, newer or missing; the text names the command to run.
        Unavailable: the database cannot be reached.
    """
    found = _found(database)
    _see_that_it_is_ours(found)
    expected = ScriptDirectory.from_config(_config()).get_current_head()
    if found != expected:
        message = (
            f"the ledger's schema is {found or 'missing'}, this code needs {expected}; "
            "run: python -m hands_app migrate"
        )
        raise SchemaMismatch(message)


def _found(database: Database) -> str | None:
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return context.get_current_revision()


def _see_that_it_is_ours(found: str | None) -> None:
    known = {each.revision for each in ScriptDirectory.from_config(_config()).walk_revisions()}
    if found is not None and found not in known:
        message = (
            f"the ledger's schema is {found}, which this code does not know: a newer release made "
            "it; install that release here, or give this one a ledger of its own"
        )
        raise SchemaMismatch(message)


def _config() -> Config:
    config = Config()
    config.set_main_option(
        "script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%")
    )
    config.set_main_option("path_separator", "os")
    return config
