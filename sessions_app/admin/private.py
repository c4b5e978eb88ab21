"""Native state, output, tokens: that they are there. Bodies are shown to nobody (law 10)."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.columns import Linked, token_column
from sessions_app.admin.readonly import ReadOnly
from sessions_app.admin.searching import Names
from sessions_app.models import Checkpoint, JournalEntry, OutputQuestion, Token

_BODIES = frozenset({"body", "object_ref"})
_PAGES = frozenset({"page"})
_HASHES = frozenset({"digest"})
_IDS = {"turn_": "turn_id", "thr_": "thread_id", "ses_": "session_id"}


@admin.register(JournalEntry)
class JournalEntryAdmin(Linked, ReadOnly):
    """Entries of the private journals."""

    list_display = (
        "id",
        "turn_link",
        "thread_link",
        "position",
        "kind",
        "path",
        "ordinal",
        token_column("token"),
        "at",
    )
    list_filter = ("kind", "at")
    list_select_related = ("thread",)
    hidden = _BODIES
    names = Names({"jrn_": "id", **_IDS}, session="session__")
    nothing = "No journal entry has been written yet."


@admin.register(Checkpoint)
class CheckpointAdmin(Linked, ReadOnly):
    """Positions from which recovery can go on."""

    list_display = (
        "id",
        "turn_link",
        "thread_link",
        "ordinal",
        "position",
        "kind",
        "harness",
        "framework",
        "format",
        token_column("token"),
        "at",
    )
    list_filter = ("kind", "harness", "at")
    list_select_related = ("thread",)
    hidden = _BODIES
    names = Names({"chk_": "id", **_IDS}, session="session__")
    nothing = "No checkpoint has been written yet."


@admin.register(OutputQuestion)
class OutputQuestionAdmin(Linked, ReadOnly):
    """Questions for what a tool wrote, for the moment that they last."""

    list_display = ("id", "session_link", "call_link", "offset", "asked_at", "answered_at")
    list_filter = ("asked_at",)
    list_select_related = ("session", "call")
    hidden = _PAGES
    names = Names({"cmd_": "id", "exe_": "call_id", "ses_": "session_id"}, session="session__")
    nothing = "Nobody is asking for output now."


@admin.register(Token)
class TokenAdmin(ReadOnly):
    """Tokens of programs; `durable token` makes and revokes them."""

    list_display = (
        "id",
        "name",
        "roles",
        "created_by",
        "created_at",
        "expires_at",
        "revoked_at",
        "used_at",
    )
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "created_at")
    hidden = _HASHES
    names = Names({"tok_": "id"}, words=("name", "created_by"))
    nothing = "No token has been made; `durable token create` makes one."
