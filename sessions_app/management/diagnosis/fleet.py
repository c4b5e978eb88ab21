"""The processes as a doctor looks at them: who lives, who scans, which agents nobody runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings

from sessions_app.management.diagnosis.findings import Finding, Level
from sessions_app.registry import registry
from sessions_app.store import clock, fleet, scans
from sessions_app.store import hosts as hosts_

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.store.fleet import HostView

_LATE_SECONDS: Final = 5.0


def hosts() -> Iterator[Finding]:
    """Living hosts, one line each, and registered agents that none of them runs."""
    found, now = fleet.hosts(), clock.now()
    owned = fleet.owned()
    late = now - timedelta(seconds=settings.DURABLE["LEASE_SECONDS"])
    for host in found:
        yield Finding.judged(
            f"host {host.host_id}",
            _line(host, owned.get(host.host_id, 0)),
            fine=host.seen_at > late,
            advice="it has not renewed for a lease; a sweep will take its threads",
        )
    have = {name for host in found if host.seen_at > late for name in host.definitions}
    known = registry.keys()
    nobody = [str(key) for key in known if have.isdisjoint({str(key), key.any_version})]
    yield Finding.judged(
        "agents",
        f"{len(known)} registered here, {len(nobody)} of them run by nobody",
        fine=not nobody,
        advice=f"start a brain that has {', '.join(nobody)}",
    )


def contents() -> Iterator[Finding]:
    """Agents whose content here is not what open Threads began with: a Brain is refused."""
    known = registry.keys()
    refusals = list(hosts_.changed(known, {str(key): registry.get(key).digest for key in known}))
    level = Level.WARNING if settings.DURABLE["CHANGED_DEFINITIONS"] == "accept" else Level.FAILURE
    yield from (Finding("agent content", level, refusal) for refusal in refusals)
    if not refusals:
        yield Finding("agent content", Level.OK, "every version says what it said")


def _line(host: HostView, owned: int) -> str:
    draining = ", draining" if host.draining_at else ""
    agents = ", ".join(host.definitions) or "no agents"
    where = f"{host.hostname}:{host.pid}"
    return f"{host.role} {where}, {agents}, owns {owned}, seen {host.seen_at.isoformat()}{draining}"


def last_scan() -> Iterator[Finding]:
    """How long ago anybody looked at the ready index (R166)."""
    age = scans.last_scan_age()
    yield Finding.judged(
        "last scan",
        "never" if age is None else f"{age:.1f} s ago",
        fine=age is not None and age < _LATE_SECONDS,
        advice="beat and every brain scan each second; is one of them running?",
    )
