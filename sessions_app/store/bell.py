"""The bell: hints after commit, through the Wakeups port that the settings name.

It carries no truth (law 1).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.ports import Wakeups


@cache
def wakeups() -> Wakeups:
    """The process's Wakeups."""
    made: Wakeups = import_string(settings.DURABLE["WAKEUPS"])()
    return made


def ring(thread_pk: str, pin: DefinitionKey) -> None:
    """Say "look at this Thread"."""
    wakeups().ring(thread_pk, pin)


_dispatchers: list[Callable[[], object]] = []


def watch_outbox(listener: Callable[[], object]) -> None:
    """Call `listener`, and no other, after each commit here that filled the outbox."""
    _dispatchers[:] = [listener]


def ring_outbox() -> None:
    """Say "look at the outbox" to this process; the dispatchers' own scan repairs a miss."""
    for listener in _dispatchers:
        listener()
