"""Tool calls, and what people are asked and say: interactions, rules, signals, waits, receipts."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.columns import Linked, Row, link
from sessions_app.admin.filters import word_filter
from sessions_app.admin.readonly import ReadOnly
from sessions_app.admin.searching import Names
from sessions_app.models import Command, Interaction, Signal, StandingRule, ToolCall, Wait

_OF_SESSION = word_filter("namespace", "session__namespace")


@admin.register(ToolCall)
class ToolCallAdmin(Linked, ReadOnly):
    """Tool calls; an id here is the execution id in every house."""

    list_display = (
        "id",
        "turn_link",
        "name",
        "state",
        "route",
        "effect",
        "attempts",
        "round",
        "ordinal",
        "intended_at",
        "started_at",
        "received_at",
        "applied_at",
        "deliver_at",
        "error_code",
        "beginning",
    )
    list_filter = (
        "state",
        word_filter("name"),
        word_filter("route"),
        _OF_SESSION,
        ("deliver_at", admin.EmptyFieldListFilter),
        "intended_at",
    )
    ordering = ("-turn_id", "-round", "-ordinal")
    preview = "arguments"
    names = Names(
        {
            "exe_": "id",
            "turn_": "turn_id",
            "thr_": "thread_id",
            "ses_": "session_id",
            "run_": "origin_run",
            "int_": "interactions__id",
        },
        words=("call_id", "name", "turn__request_id"),
        session="session__",
    )
    related = (("interaction", "interactions"),)
    nothing = "No agent has asked for a tool yet."


@admin.register(Interaction)
class InteractionAdmin(Linked, ReadOnly):
    """What people were asked, and who answered."""

    list_display = (
        "id",
        "turn_link",
        "call_link",
        "kind",
        "status",
        "risk",
        "assignee",
        "answered_by",
        "opened_at",
        "expires_at",
        "answered_at",
        "consumed_at",
    )
    list_filter = ("status", "kind", _OF_SESSION, "opened_at")
    names = Names(
        {"int_": "id", "turn_": "turn_id", "exe_": "call_id", "ses_": "session_id"},
        words=("request_id", "assignee", "answered_by"),
        session="session__",
    )
    nothing = "Nobody has been asked anything yet."


@admin.register(StandingRule)
class StandingRuleAdmin(Linked, ReadOnly):
    """Answers given ahead to later approvals."""

    list_display = (
        "id",
        "namespace",
        "definition",
        "session_link",
        "tool",
        "allow",
        "created_by",
        "created_at",
        "expires_at",
        "revoked_at",
        "revoked_by",
    )
    list_filter = (
        "allow",
        word_filter("tool"),
        word_filter("namespace"),
        ("revoked_at", admin.EmptyFieldListFilter),
        "created_at",
    )
    list_select_related = ("session",)
    names = Names(
        {"rule_": "id", "ses_": "session_id", "int_": "answered__id"},
        words=("tool", "created_by", "namespace"),
        session="session__",
    )
    related = (("interaction", "interactions"),)
    nothing = "Nobody has given an answer ahead yet."


@admin.register(Signal)
class SignalAdmin(Linked, ReadOnly):
    """Steers, injects and signals to running Turns."""

    list_display = (
        "id",
        "turn_link",
        "kind",
        "name",
        "status",
        "request_id",
        "run_of_application",
        "applied_position",
        "at",
        "ended_at",
    )
    list_filter = ("status", "kind", _OF_SESSION, "at")
    names = Names(
        {"sig_": "id", "turn_": "turn_id", "ses_": "session_id", "run_": "applied_run"},
        words=("request_id", "name"),
        session="session__",
    )
    nothing = "Nobody has steered a Turn yet."

    @admin.display(description="applied in")
    def run_of_application(self, row: Row) -> str:
        """Lead to the Run that took it in."""
        return link("run", row.applied_run)


@admin.register(Wait)
class WaitAdmin(Linked, ReadOnly):
    """What Turns wait for by name, and until when."""

    list_display = (
        "id",
        "turn_link",
        "call_link",
        "key",
        "status",
        "deadline_at",
        "opened_at",
        "ended_at",
    )
    list_filter = ("status", word_filter("key"), _OF_SESSION, "opened_at")
    names = Names(
        {
            "wait_": "id",
            "turn_": "turn_id",
            "exe_": "call_id",
            "ses_": "session_id",
            "sig_": "signal_id",
        },
        words=("key",),
        session="session__",
    )
    nothing = "No Turn has waited for a signal yet."


@admin.register(Command)
class CommandAdmin(Linked, ReadOnly):
    """Receipts of admitted requests."""

    list_display = ("id", "session_link", "request_id", "operation", "turn_link", "at")
    list_filter = (word_filter("operation"), _OF_SESSION, "at")
    list_select_related = ("session",)
    names = Names(
        {"cmd_": "id", "turn_": "turn_id", "ses_": "session_id"},
        words=("request_id",),
        session="session__",
    )
    nothing = "No request has been admitted yet."
