"""The processes of `make sim`: each has a database of its own, and time that stands still.

Nothing of Django is imported before `prepare` has said which database that is.
"""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from tests.simulation.report import Chunk, Failed

_open = ExitStack()


def prepare() -> None:
    """Make a database, set Django up on it, and hold time still from now on."""
    name = f"sim_{os.getpid()}"
    os.environ["DURABLE_STATE_DIR"] += f"-{name}"
    server = os.environ.get("DATABASE_URL")
    if server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        os.environ["DATABASE_URL"] = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "durable_site.settings"
    import_module("django").setup()
    import_module("django.core.management").call_command("migrate", verbosity=0)
    import_module("tests.databases").keep_what_is_filled()
    atexit.register(_open.close)
    _open.enter_context(_seeds().standing())


def play_chunk(seeds: Iterable[int]) -> Chunk:
    """Play these seeds."""
    return cast("Chunk", _seeds().play_all(seeds))


def sabotages() -> list[str]:
    """Every way in which the product can be broken."""
    return cast("list[str]", _seeds().names_of_sabotages())


def try_sabotage(name: str, seeds: int) -> tuple[str, tuple[int, str] | None]:
    """The first seed that fails while the product is broken in this way, and by what."""
    return cast("tuple[str, tuple[int, str] | None]", _seeds().try_sabotage(name, seeds))


def cut_down(seed: int) -> Failed | None:
    """Play one seed; what is left of it when it is cut down, or None when it holds."""
    return cast("Failed | None", _seeds().cut_down(seed))


def _seeds() -> ModuleType:
    return import_module("tests.simulation.seeds")
