"""Named statements: claims, scans and whatever has locks. Each file opens with its purpose."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from django.db import connection


@cache
def _text(name: str, vendor: str) -> str:
    return files(__package__).joinpath(f"{name}.{vendor}.sql").read_text(encoding="utf-8")


def rows(name: str, **values: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - bound values
    """Execute the named statement of this database with bound values and give its rows."""
    with connection.cursor() as cursor:
        cursor.execute(_text(name, connection.vendor), values)
        return list(cursor.fetchall())
