"""Look at settings, database, clocks, locks, durability, objects, broker, hosts, the last scan.

Exit code 1 when something keeps the system from working; a warning alone does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.core import checks

from sessions_app.management import exits
from sessions_app.management.diagnosis import (
    Finding,
    Level,
    broker,
    database,
    examine,
    fleet,
    objects,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator

    from sessions_app.management.output import Output

CHECKED: Final = False
_MARKS: Final = {Level.OK: "ok  ", Level.WARNING: "WARN", Level.FAILURE: "FAIL"}


def settings() -> Iterator[Finding]:
    """Say what Django's system checks say, in the same words."""
    found = checks.run_checks()
    for message in found:
        level = Level.FAILURE if message.is_serious() else Level.WARNING
        yield Finding(
            f"settings {message.id}", level, f"{message.msg} {message.hint or ''}".strip()
        )
    if not found:
        yield Finding("settings", Level.OK, "no system check complains")


LOOKS: Final[tuple[tuple[str, Callable[[], Iterator[Finding]]], ...]] = (
    ("settings", settings),
    ("database", database.version),
    ("migrations", database.migrations),
    ("clocks", database.clocks),
    ("locks", database.locks),
    ("durability", database.durability),
    ("objects", objects.store),
    ("broker", broker.reachable),
    ("redis eviction", broker.eviction),
    ("hosts", fleet.hosts),
    ("agent content", fleet.contents),
    ("last scan", fleet.last_scan),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare none of its own."""


def run(options: dict[str, Any], out: Output) -> int:  # noqa: ARG001 - the form of a verb
    """Look at everything, whatever fails."""
    found = [finding for name, look in LOOKS for finding in examine(name, look)]
    out.data({"findings": found})
    for finding in found:
        out.line(f"{_MARKS[finding.level]} {finding.name}: {finding.text}")
    failed = any(finding.level == Level.FAILURE for finding in found)
    return exits.FOUND if failed else exits.DONE
