"""Sessions and Threads."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.columns import Linked, Row, link, token_column
from sessions_app.admin.filters import word_filter
from sessions_app.admin.readonly import ReadOnly
from sessions_app.admin.searching import Names
from sessions_app.models import Session, Thread


@admin.register(Session)
class SessionAdmin(ReadOnly):
    """Conversations, newest first."""

    list_display = (
        "id",
        "namespace",
        "session_id",
        "status",
        "last_sequence",
        "created_at",
        "closed_at",
    )
    list_filter = (word_filter("namespace"), "status", "created_at")
    names = Names(
        {
            "ses_": "id",
            "thr_": "threads__id",
            "turn_": "turns__id",
            "run_": "turns__runs__id",
            "exe_": "turns__calls__id",
            "msg_": "messages__id",
            "cmd_": "commands__id",
            "int_": "turns__interactions__id",
            "sig_": "turns__signals__id",
        },
        words=("namespace", "commands__request_id"),
        session="",
    )
    related = (
        ("thread", "threads"),
        ("turn", "turns"),
        ("toolcall", "tool calls"),
        ("message", "messages"),
        ("event", "events"),
        ("command", "receipts"),
        ("interaction", "interactions"),
        ("workspaceentry", "workspace"),
        ("auditentry", "audit"),
    )
    nothing = "No Session has been created yet; `durable submit` creates one with its first Turn."


@admin.register(Thread)
class ThreadAdmin(Linked, ReadOnly):
    """Running contexts of agents, with their leases."""

    list_display = (
        "id",
        "session_link",
        "thread_id",
        "status",
        "definition",
        "version",
        "wake_at",
        "owner",
        token_column("lease_token"),
        "lease_expires_at",
        "incompatible_reason",
    )
    list_filter = (
        word_filter("namespace"),
        word_filter("definition"),
        word_filter("version"),
        "status",
        ("lease_host", admin.EmptyFieldListFilter),
        ("wake_at", admin.EmptyFieldListFilter),
        "created_at",
    )
    list_select_related = ("session",)
    names = Names(
        {
            "thr_": "id",
            "ses_": "session_id",
            "turn_": "turns__id",
            "run_": "turns__runs__id",
            "exe_": "turns__calls__id",
            "msg_": "messages__id",
            "host_": "lease_host",
        },
        words=("thread_id", "definition"),
        session="session__",
    )
    related = (
        ("turn", "turns"),
        ("run", "runs"),
        ("toolcall", "tool calls"),
        ("message", "messages"),
        ("journalentry", "journal"),
        ("checkpoint", "checkpoints"),
    )
    nothing = "No Thread exists yet; each Session begins with its main one."

    @admin.display(description="leased to")
    def owner(self, row: Row) -> str:
        """Lead to the Host that owns the Thread."""
        return link("host", row.lease_host)
