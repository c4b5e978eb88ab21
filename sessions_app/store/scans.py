"""Scans: the look that repairs every lost hint, its record.

And the grace after a gap (R166, S4).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings

from hands_app.contract.ids import new_id
from sessions_app.contract.backend import HostIdentity, ScanReport
from sessions_app.models import ScanRun, StoreState, Thread
from sessions_app.store import claims, clock
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from sessions_app.store.unit import Unit

GAP: Final = timedelta(seconds=5)
LOOK_AT: Final = 100


def in_grace(now: datetime) -> bool:
    """Whether a gap in scanning forbids takeover at present: living owners renew first (S4)."""
    state = StoreState.objects.get()
    if state.scanned_at is not None and now - state.scanned_at > GAP:
        return True
    return state.grace_until is not None and now < state.grace_until


def last_scan_age() -> float | None:
    """Seconds since anybody scanned; None when nobody ever did."""
    scanned_at = StoreState.objects.values_list("scanned_at", flat=True).get()
    return None if scanned_at is None else (clock.now() - scanned_at).total_seconds()


def scan(host: HostIdentity, *, own: bool) -> ScanReport:
    """Look at what should have been taken long ago.

    Leave a row when there is something, else update one.

    `found` counts Threads that were due for more than one scan period: their hint was lost, or
    nobody was free.
    Running it twice, or by any number of schedulers, changes nothing (C8).
    """
    found = [candidate.thread_pk for candidate in claims.candidates(host, LOOK_AT)]
    due = list(
        Thread.objects.filter(pk__in=found, wake_at__isnull=False).values_list("wake_at", flat=True)
    )

    def body(unit: Unit) -> ScanReport:
        late = timedelta(seconds=settings.DURABLE["SCAN_SECONDS"])
        ages = [
            (unit.now - moment).total_seconds()
            for moment in due
            if moment and unit.now - moment > late
        ]
        gap = _stamp(unit.now)
        repaired = {
            key: 1 for key, seen in (("gap", gap), ("no-beat", own)) if seen and (gap or ages)
        }
        report = ScanReport(len(ages), repaired, max(ages, default=0.0))
        _record(unit, host, report)
        return report

    return run("scan.record", body)


def _stamp(now: datetime) -> bool:
    """Note the scan; True when none was noted for so long that owners may not have renewed."""
    state = StoreState.objects.get()
    gap = state.scanned_at is not None and now - state.scanned_at > GAP
    columns = {"scanned_at": now}
    if gap:
        columns["grace_until"] = now + timedelta(seconds=settings.DURABLE["RENEW_SECONDS"])
    StoreState.objects.update(**columns)
    return gap


def _record(unit: Unit, host: HostIdentity, report: ScanReport) -> None:
    columns = {
        "at": unit.now,
        "found": report.found,
        "repaired": report.repaired,
        "lag_seconds": report.lag_seconds,
    }
    if report.found or report.repaired:
        ScanRun.objects.create(id=new_id("scan_"), scanner=host.host_id, quiet=False, **columns)
    elif not ScanRun.objects.filter(scanner=host.host_id, quiet=True).update(**columns):
        ScanRun.objects.create(id=new_id("scan_"), scanner=host.host_id, quiet=True, **columns)
