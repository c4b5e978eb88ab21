"""Databases for tests: real transactions, and tables emptied before each test that uses them."""

import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.db import OperationalError, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from django.test.utils import setup_databases, teardown_databases
from psycopg import sql
from pytest_django import DjangoDbBlocker

from durable_site.environment import sqlite_url
from sessions_app.models import StoreState

# Tables that migrations fill: the same for every test, and never emptied.
_kept: set[str] = set()

_LARGE_BYTES = 64 * 1024
_ATTEMPTS = 3
# A test that ran out of time may have left a statement running or a transaction open.
_END_LEFTOVERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend' AND xact_start IS NOT NULL
"""
_NOT_AS_NEW = """
SELECT name FROM unnest(%s::text[]) AS name JOIN pg_class ON pg_class.oid = name::regclass
WHERE relpages > 0 OR pg_relation_size(pg_class.oid) > %s
"""


@dataclass(frozen=True)
class Template:
    """A migrated, empty database that copies are made of."""

    source: str

    def copy_to(self, state_dir: Path) -> str:
        """Return the URL of a fresh copy; on SQLite it is a file in the state folder."""
        if connection.vendor == "sqlite":
            path = state_dir / "durable.sqlite3"
            shutil.copyfile(self.source, path)
            return sqlite_url(path)
        return create_database(self.source)


@pytest.fixture
def database(migrated_database: Template, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Open the database, its tables empty, with real transactions, usable from any thread."""
    with django_db_blocker.unblock():
        connections.close_all()  # whatever state the test before has left its connection in
        empty_tables()
        forget_state()
        yield
        connections.close_all()


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Make this process's migrated test database, and remove it in the end."""
    with django_db_blocker.unblock():
        made = setup_databases(
            verbosity=0, interactive=False, aliases={"default": None}, serialized_aliases=set()
        )
        keep_what_is_filled()
        connection.close()
    yield
    with django_db_blocker.unblock():
        connections.close_all()
        if connection.vendor == "postgresql":
            drop_database(str(connection.settings_dict["NAME"]))
        else:
            teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session")
def migrated_database(django_db_setup: None) -> Iterator[Template]:
    """Give the template of this run's database, made before any test has written to it."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        source = f"{name}.template"
        with closing(sqlite3.connect(name)) as live, closing(sqlite3.connect(source)) as copy:
            live.backup(copy)
        yield Template(source)
        Path(source).unlink()
    else:
        source = database_name(create_database(name))
        yield Template(source)
        drop_database(source)


def keep_what_is_filled() -> None:
    """Remember the tables that migrations have filled: they are never emptied."""
    with connection.cursor() as cursor:
        _kept.update(_filled(cursor, _tables()))


def forget_state() -> None:
    """Set the store's one row to what it was after the migrations; its incarnation stays."""
    fields = [field for field in StoreState._meta.fields if field.has_default() or field.null]
    StoreState.objects.update(
        **{field.name: field.get_default() for field in fields if not field.primary_key}
    )


def empty_tables() -> None:
    """Empty every table but those that migrations filled, in one transaction; ids count on."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _empty_on_sqlite(cursor)
        else:
            _empty_on_postgresql(cursor)


def _empty_on_sqlite(cursor: CursorWrapper) -> None:
    filled = _filled(cursor, _tables() - _kept)
    with connection.constraint_checks_disabled():
        cursor.execute("BEGIN IMMEDIATE")
        for table in filled:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - our own name
        cursor.execute("COMMIT")


def _empty_on_postgresql(cursor: CursorWrapper) -> None:
    """End what a test has left running, then empty; again if some of it began in between."""
    for attempt in range(1, _ATTEMPTS + 1):
        cursor.execute(_END_LEFTOVERS)
        try:
            with transaction.atomic():  # what fails leaves no open transaction behind
                _delete(cursor)
        except OperationalError:
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _delete(cursor: CursorWrapper) -> None:
    """Delete rows, which is faster than TRUNCATE for a few, unless that would leave traces.

    A large table keeps its dead rows, and one that was analysed keeps its statistics: both mislead
    the planner in the next test.
    """
    tables = _tables() - _kept
    cursor.execute(_NOT_AS_NEW, [sorted(tables), _LARGE_BYTES])
    truncated = {row[0] for row in cursor.fetchall()}
    changes = [f"DELETE FROM {table};" for table in _filled(cursor, tables - truncated)]  # noqa: S608 - our own names
    if truncated:
        changes.append(f"TRUNCATE {', '.join(sorted(truncated))} CASCADE;")
    if changes:
        # Without foreign keys and append-only triggers: the order of tables does not matter. An
        # autovacuum in the way of TRUNCATE gives up after a second, which is our own lock timeout.
        patience = "SET LOCAL lock_timeout = '20s'; SET LOCAL session_replication_role = replica;"
        cursor.execute(f"{patience} {' '.join(changes)}")


def _tables() -> set[str]:
    """Return the quoted names of all tables of our models."""
    models = apps.get_models(include_auto_created=True)
    names = {model._meta.db_table for model in models if model._meta.managed}
    return {connection.ops.quote_name(name) for name in names}


def _filled(cursor: CursorWrapper, tables: set[str]) -> list[str]:
    """Return those of the tables that have rows."""
    looks = [f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in sorted(tables)]  # noqa: S608 - our own names
    cursor.execute(" UNION ALL ".join(looks))
    return [row[0] for row in cursor.fetchall()]


def create_database(template: str = "template0") -> str:
    """Create a PostgreSQL database beside the tests' own and return its URL."""
    name = f"durable_{uuid.uuid4().hex[:12]}"
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
        server.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
    return urlunsplit(urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}"))


def drop_database(name: str) -> None:
    """Drop a PostgreSQL database, whoever is still connected to it."""
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def database_name(url: str) -> str:
    """Return the name of the database that a URL leads to."""
    return urlsplit(url).path.removeprefix("/")
