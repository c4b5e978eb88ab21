"""Which executor has which route, as the settings say (`DURABLE["EXECUTORS"]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.module_loading import import_string

from sessions_app.tooling.routing import Routes

if TYPE_CHECKING:
    from sessions_app.ports import Executor, ExecutorCapabilities, OwnExecutor


def routes(rest: Executor) -> Routes:
    """Make the executors of this process; the routes that nobody named go to `rest`.

    Raises ImportError for a path that leads nowhere, and what making one raises.
    """
    made: dict[str, OwnExecutor] = {}
    lent: dict[str, OwnExecutor] = {}
    for route, path in settings.DURABLE["EXECUTORS"].items():
        found = import_string(path)
        if isinstance(found, type):
            made[route] = found.from_settings(route)  # type: ignore[attr-defined]  # by the setting
        else:
            lent[route] = found
    return Routes(rest, made, lent)


def capabilities() -> dict[str, ExecutorCapabilities]:
    """What each route of the settings can do; makes and asks nothing (R249)."""
    return {
        route: import_string(path).capabilities
        for route, path in settings.DURABLE["EXECUTORS"].items()
    }
