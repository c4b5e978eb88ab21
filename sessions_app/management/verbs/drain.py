"""Tell brains to drain: they claim nothing more and hand their turns over at the next boundary.

It marks the hosts in the database, wherever they run; each brain reads its own mark with its next
renewal, so that it takes effect within about ten seconds. Nothing is charged to any turn. A drained
process stays alive and idle until its supervisor stops it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Invalid, NotFound, WaitTimeout
from sessions_app.runtime import DurableRuntime
from sessions_app.runtime.waiting import pauses
from sessions_app.store import fleet, hosts

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("hosts", nargs="*", metavar="host", help="ids of hosts, see doctor")
    parser.add_argument("--all", action="store_true", help="every living host")
    parser.add_argument("--wait", type=float, metavar="S", help="seconds to wait for empty hands")


def run(options: dict[str, Any], out: Output) -> int:
    """Mark them, and wait until they own nothing if asked to."""
    with DurableRuntime():
        wanted = _wanted(options)
        for host_id in wanted:
            hosts.draining(host_id)
        if options["wait"] is not None:
            _wait(wanted, options["wait"])
    out.data({"draining": wanted})
    out.line(f"draining: {', '.join(wanted) or 'no host is alive'}")
    return 0


def _wanted(options: dict[str, Any]) -> list[str]:
    alive = [host.host_id for host in hosts.living()]
    if options["all"]:
        return alive
    if not options["hosts"]:
        msg = "name the hosts to drain, or say --all"
        raise Invalid(msg)
    unknown = [name for name in options["hosts"] if name not in alive]
    if unknown:
        msg = f"host {', '.join(unknown)} is not alive; alive: {', '.join(alive) or 'none'}"
        raise NotFound(msg)
    return list(options["hosts"])


def _wait(wanted: list[str], seconds: float) -> None:
    for pause in pauses(seconds):
        time.sleep(pause)
        busy = {name: count for name, count in fleet.owned().items() if name in wanted}
        if not busy:
            return
    msg = f"after {seconds} s still at work: {busy}; they go on draining"
    raise WaitTimeout(msg)
