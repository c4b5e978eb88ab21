"""Turns and what executed for them: Runs, Steps, model calls."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.columns import Linked, Row, link, token_column
from sessions_app.admin.filters import word_filter
from sessions_app.admin.readonly import ReadOnly
from sessions_app.admin.searching import Names
from sessions_app.models import ModelCall, Run, Step, Turn
from sessions_app.store import reads


@admin.register(Turn)
class TurnAdmin(Linked, ReadOnly):
    """Submitted tasks: where each stands and why."""

    list_display = (
        "id",
        "session_link",
        "thread_link",
        "status",
        "reason",
        "agent",
        "request_id",
        "revision",
        "failures",
        "retry_at",
        "takeovers",
        "rounds",
        "input_tokens",
        "output_tokens",
        "created_at",
        "finished_at",
        "beginning",
    )
    list_filter = (
        "status",
        "reason",
        "suspect",
        word_filter("namespace", "session__namespace"),
        word_filter("definition", "thread__definition"),
        "created_at",
        "finished_at",
    )
    list_select_related = ("session", "thread")
    preview = "input"
    names = Names(
        {
            "turn_": "id",
            "ses_": "session_id",
            "thr_": "thread_id",
            "run_": "runs__id",
            "step_": "runs__steps__id",
            "call_": "model_calls__id",
            "exe_": "calls__id",
            "msg_": "messages__id",
            "int_": "interactions__id",
            "sig_": "signals__id",
        },
        words=("request_id", "calls__call_id"),
        session="session__",
    )
    related = (
        ("run", "runs"),
        ("step", "steps"),
        ("modelcall", "model calls"),
        ("toolcall", "tool calls"),
        ("message", "messages"),
        ("event", "events"),
        ("interaction", "interactions"),
        ("signal", "signals"),
        ("command", "receipts"),
        ("journalentry", "journal"),
        ("checkpoint", "checkpoints"),
    )
    nothing = "No Turn has been submitted yet; `durable submit` submits one."

    computed = ("why",)

    @admin.display(description="why it does not run")
    def why(self, row: Row) -> str:
        """Give the one explanation that every surface gives, and what may be done next."""
        explained = reads.explain(row.pk)
        actions = ", ".join(map(str, explained.next_actions)) or "nothing"
        waits = f"\nWaits for: {explained.waits_for}" if explained.waits_for else ""
        return f"{explained.text}{waits}\nWhat may be done: {actions}"

    @admin.display(description="agent")
    def agent(self, row: Row) -> str:
        """Give the definition and version that the Thread is pinned to."""
        return f"{row.thread.definition}@{row.thread.version}"


@admin.register(Run)
class RunAdmin(Linked, ReadOnly):
    """In-process invocations; a second one of a Turn is a takeover or a next try."""

    list_display = (
        "id",
        "turn_link",
        "ordinal",
        "status",
        "reason",
        "on_host",
        token_column("token"),
        "started_at",
        "ended_at",
    )
    list_filter = (
        "status",
        word_filter("namespace", "session__namespace"),
        word_filter("definition", "thread__definition"),
        "started_at",
    )
    names = Names(
        {
            "run_": "id",
            "turn_": "turn_id",
            "thr_": "thread_id",
            "ses_": "session_id",
            "step_": "steps__id",
            "call_": "model_calls__id",
            "host_": "host",
        },
        words=("turn__request_id",),
        session="session__",
    )
    related = (("step", "steps"), ("modelcall", "model calls"), ("event", "events"))
    nothing = "Nothing has run yet; a Brain claims a Turn and begins a Run."

    @admin.display(description="host")
    def on_host(self, row: Row) -> str:
        """Lead to the Host that ran it."""
        return link("host", row.host)


@admin.register(Step)
class StepAdmin(Linked, ReadOnly):
    """Phases of Runs."""

    list_display = (
        "id",
        "turn_link",
        "run_link",
        "ordinal",
        "phase",
        "status",
        "started_at",
        "ended_at",
    )
    list_filter = ("phase", "status", "started_at")
    names = Names(
        {"step_": "id", "run_": "run_id", "turn_": "turn_id", "call_": "model_calls__id"},
        words=("turn__request_id",),
        session="run__session__",
    )
    related = (("modelcall", "model calls"),)
    nothing = "No Step has begun yet."


@admin.register(ModelCall)
class ModelCallAdmin(Linked, ReadOnly):
    """Requests to models as they were observed; unknown counts are empty, never zero."""

    list_display = (
        "id",
        "turn_link",
        "run_link",
        "path",
        "ordinal",
        "attempt",
        "status",
        "model",
        "requests",
        "input_tokens",
        "output_tokens",
        "duration_ms",
        "error_code",
        "at",
    )
    list_filter = ("status", word_filter("model"), "at")
    names = Names(
        {"call_": "id", "run_": "run_id", "step_": "step_id", "turn_": "turn_id"},
        words=("turn__request_id",),
        session="run__session__",
    )
    nothing = "No model has been asked yet."
