"""The public timeline: events and messages."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import admin
from django.db.models import Model, QuerySet

from sessions_app.admin.columns import Linked
from sessions_app.admin.filters import word_filter
from sessions_app.admin.readonly import ReadOnly
from sessions_app.admin.searching import M, Names
from sessions_app.models import Event, Message, Run, Turn


@dataclass(frozen=True, slots=True)
class EventNames(Names):
    """Events have an index on their Session alone, so that a Turn or Run is looked for there."""

    def find(self, rows: QuerySet[M], term: str) -> QuerySet[M]:
        """Narrow the events of the Turn's or Run's Session."""
        for prefix, model in (("turn_", Turn), ("run_", Run)):
            if term.startswith(prefix):
                owner: QuerySet[Model] = QuerySet(model).filter(pk=term)
                found = owner.values_list("session_id", flat=True)
                return rows.filter(**{"session_id__in": list(found), f"{prefix}id": term})
        return Names.find(self, rows, term)


@admin.register(Event)
class EventAdmin(Linked, ReadOnly):
    """Persisted public facts, newest first."""

    list_display = (
        "id",
        "session_link",
        "sequence",
        "type",
        "thread_id",
        "turn_link",
        "run_link",
        "at",
        "beginning",
    )
    list_filter = (word_filter("type"), word_filter("namespace", "session__namespace"), "at")
    list_select_related = ("session",)
    preview = "payload"
    names = EventNames({"ses_": "session_id"}, words=("type",), session="session__")
    nothing = "Nothing has happened yet."


@admin.register(Message)
class MessageAdmin(Linked, ReadOnly):
    """Logical messages of users and assistants."""

    list_display = (
        "id",
        "session_link",
        "thread_link",
        "turn_link",
        "role",
        "ordinal",
        "attempt",
        "revision",
        "sequence",
        "at",
        "beginning",
    )
    list_filter = ("role", word_filter("namespace", "session__namespace"), "at")
    list_select_related = ("session", "thread")
    preview = "parts"
    names = Names(
        {"msg_": "id", "turn_": "turn_id", "thr_": "thread_id", "ses_": "session_id"},
        words=("request_id",),
        session="session__",
    )
    nothing = "Nobody has said anything yet."
