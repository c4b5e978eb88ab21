"""Scan the ready index once, as beat has it done each second; any number of scans is harmless."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.backend import HostIdentity
from sessions_app.registry import registry
from sessions_app.runtime import DurableRuntime
from sessions_app.store import scans

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = True
_SCANNER: Final = "manage.py"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare none of its own."""


def run(options: dict[str, Any], out: Output) -> int:  # noqa: ARG001 - the form of a verb
    """Scan for the definitions that are registered here."""
    with DurableRuntime():
        known = (registry.keys(), tuple(registry.resolvers()))
        here = HostIdentity(_SCANNER, "operator", socket.gethostname(), os.getpid(), "", *known)
        report = scans.scan(here, own=False)
    out.data(report)
    repaired = ", ".join(f"{name} {count}" for name, count in report.repaired.items()) or "nothing"
    out.line(
        f"found {report.found} late, the oldest {report.lag_seconds:.1f} s; {repaired} repaired"
    )
    return 0
