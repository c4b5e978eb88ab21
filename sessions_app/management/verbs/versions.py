"""List the versions of agents: who still needs each, and which living brains have it.

A version may be taken out of the code once nobody needs it: no open thread is pinned to it. Threads
are moved with `repin`, or closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import NotFound
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.versions import VersionView
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("agent", nargs="?", help="one agent only")


def run(options: dict[str, Any], out: Output) -> int:
    """List them."""
    with DurableRuntime() as runtime:
        found = runtime.versions(options["agent"])
    name = options["agent"]
    if name and not found:
        msg = f"no version of agent {name!r:.80} is registered here or needed by anybody"
        raise NotFound(msg)
    out.data(found)
    for version in found:
        out.line(f"{version.definition}: {_need(version)}; {_able(version)}")
    if not found:
        out.line("no version is registered here or needed by anybody")
    return 0


def _need(version: VersionView) -> str:
    if not version.threads:
        return "nobody needs it"
    since = f", the oldest since {version.oldest.isoformat()}" if version.oldest else ""
    refused = f", {version.refused} refused by hosts that looked" if version.refused else ""
    return f"{version.threads} threads, {version.turns} unfinished turns{since}{refused}"


def _able(version: VersionView) -> str:
    here = "" if version.known else ", not registered here"
    return f"run by {', '.join(version.hosts) or 'nobody'}{here}"
