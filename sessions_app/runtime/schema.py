"""The start-up check: a runtime works on a migrated schema or refuses, and migrates none (R238)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from sessions_app.contract.errors import StaleSchema
from sessions_app.store.looking import look

APP: Final = "sessions_app"


@look
def unapplied() -> list[str]:
    """Names of migrations that the runtime needs and the database lacks; raises Unavailable."""
    executor = MigrationExecutor(connection)
    targets = [node for node in executor.loader.graph.leaf_nodes() if node[0] == APP]
    return [f"{each.app_label}.{each.name}" for each, _ in executor.migration_plan(targets)]


def check() -> None:
    """Raise StaleSchema when migrations are missing. On an event loop a thread of its own looks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        missing = unapplied()
    else:
        with ThreadPoolExecutor(1, "durable-schema") as aside:
            missing = aside.submit(_look_and_leave).result()
    if missing:
        msg = f"the database lacks {', '.join(missing)}; run `manage.py migrate`, then start again"
        raise StaleSchema(msg)


def _look_and_leave() -> list[str]:
    try:
        return unapplied()
    finally:
        connection.close()
