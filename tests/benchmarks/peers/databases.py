"""A database of its own for each peer, on the run's PostgreSQL."""

from __future__ import annotations

import os
from contextlib import suppress

import psycopg
from psycopg import sql


def make_database(name: str) -> str:
    """Give the URL of a database, made when it is missing."""
    server = os.environ["BENCH_POSTGRES"]
    connected = psycopg.connect(f"{server}/postgres", autocommit=True)
    with connected as connection, suppress(psycopg.errors.DuplicateDatabase):
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return f"{server}/{name}"


def is_there(url: str, name: str) -> bool:
    """Say whether a table or function of this name is in the database."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT coalesce(to_regclass(%s)::text, to_regproc(%s)::text)", (name, name)
        ).fetchone()
    return row is not None and row[0] is not None


def empty(url: str, table: str) -> None:
    """Empty a table and whatever hangs on it."""
    with psycopg.connect(url) as connection:
        names = sql.Identifier(*table.split("."))
        connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(names))
