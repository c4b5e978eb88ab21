"""What keeps the system going: hosts, scans, the audit trail, the workspace, the store's row."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from sessions_app.admin.columns import Linked, Row, as_lines, link
from sessions_app.admin.filters import word_filter
from sessions_app.admin.readonly import ReadOnly
from sessions_app.admin.searching import Names
from sessions_app.models import AuditEntry, Host, PurgeMarker, ScanRun, StoreState, WorkspaceEntry


@admin.register(Host)
class HostAdmin(ReadOnly):
    """Processes, living and gone."""

    list_display = (
        "id",
        "role",
        "hostname",
        "pid",
        "build",
        "started_at",
        "seen_at",
        "progressed_at",
        "draining_at",
        "stopped_at",
        "lost_at",
    )
    list_filter = (
        "role",
        ("stopped_at", admin.EmptyFieldListFilter),
        ("lost_at", admin.EmptyFieldListFilter),
        "started_at",
    )
    names = Names({"host_": "id"}, words=("hostname", "build"))
    related = (("thread", "leased Threads"), ("run", "runs"), ("scanrun", "scans"))
    nothing = "No process has joined yet; `make up` starts a Brain."


@admin.register(ScanRun)
class ScanRunAdmin(ReadOnly):
    """Scans that found something, and one row for the quiet ones of each scanner."""

    list_display = ("id", "by", "at", "found", "why", "lag_seconds", "quiet")
    list_filter = ("quiet", "at")
    ordering = ("-at",)
    names = Names({"scan_": "id", "host_": "scanner"})
    nothing = "Nobody has scanned yet."

    @admin.display(description="scanner")
    def by(self, row: Row) -> str:
        """Lead to the Host that scanned."""
        return link("host", row.scanner)

    @admin.display(description="repaired")
    def why(self, row: Row) -> str:
        """Count the repairs by their reason."""
        return as_lines(row.repaired) if row.repaired else ""

    def get_queryset(self, request: Any) -> Any:  # noqa: ANN401 - Django's own types
        """Load the small counts of repairs with the list."""
        return super().get_queryset(request).defer(None)


@admin.register(AuditEntry)
class AuditEntryAdmin(Linked, ReadOnly):
    """Who did what, why, and what changed."""

    list_display = ("id", "at", "actor", "action", "target", "reason", "session_link")
    list_filter = (word_filter("actor"), word_filter("action"), "at")
    list_select_related = ("session",)
    names = Names({"ses_": "session_id"}, words=("id", "target", "actor"), session="session__")
    nothing = "No operator has done anything yet."


@admin.register(PurgeMarker)
class PurgeMarkerAdmin(ReadOnly):
    """What stands for Sessions that were purged."""

    list_display = ("id", "at", "namespace", "session_id", "actor", "reason")
    list_filter = (word_filter("namespace"), word_filter("actor"), "at")
    names = Names(words=("id", "namespace", "session_id", "actor"))
    nothing = "No Session has been purged yet."


@admin.register(WorkspaceEntry)
class WorkspaceEntryAdmin(Linked, ReadOnly):
    """The agents' small durable files."""

    list_display = ("id", "session_link", "key", "version", "at")
    list_filter = (word_filter("namespace", "session__namespace"), "at")
    list_select_related = ("session",)
    names = Names({"ses_": "session_id"}, words=("id", "key"), session="session__")
    nothing = "No agent has kept a file yet."


@admin.register(StoreState)
class StoreStateAdmin(ReadOnly):
    """The store's one row about itself."""

    list_display = ("id", "incarnation", "scanned_at", "grace_until")
    names = Names(words=("incarnation",))
