"""The fleet as readers see it: living processes and how many Threads each of them owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count

from sessions_app.models import Host, Thread
from sessions_app.store.looking import look

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class HostView:
    """A process that neither stopped in order nor was found dead; its lock stays private."""

    host_id: str
    role: str
    hostname: str
    pid: int
    build: str
    definitions: tuple[str, ...]
    started_at: datetime
    seen_at: datetime
    progressed_at: datetime | None
    draining_at: datetime | None


@look
def hosts() -> list[HostView]:
    """Living processes, the oldest first."""
    rows = Host.objects.filter(stopped_at=None, lost_at=None).order_by("started_at")
    return [
        HostView(
            host_id=row.id,
            role=row.role,
            hostname=row.hostname,
            pid=row.pid,
            build=row.build,
            definitions=tuple(row.definitions),
            started_at=row.started_at,
            seen_at=row.seen_at,
            progressed_at=row.progressed_at,
            draining_at=row.draining_at,
        )
        for row in rows
    ]


@look
def owned() -> dict[str, int]:
    """How many Threads each host owns; hosts that own none are left out."""
    leased = Thread.objects.filter(lease_host__isnull=False).values("lease_host")
    return {str(row["lease_host"]): row["owned"] for row in leased.annotate(owned=Count("id"))}
