"""How single values are shown: links to other rows, shortened tokens, JSON as lines."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hands_app.contract.strict_json import JsonValue

Row: TypeAlias = Any
"""A row of whichever model the page is about."""

TOKENS: Final = frozenset({"token", "lease_token", "start_token"})
LONGEST: Final = 2000
"""Characters of one JSON value that a page shows."""
_KEPT: Final = 6
_NONE: Final = "\N{EN DASH}"
_MORE: Final = "\N{HORIZONTAL ELLIPSIS}"


def link(model: str, key: str | None, text: str = "") -> str:
    """Lead to the row of a model with this primary key."""
    if not key:
        return _NONE
    address = reverse(f"admin:sessions_app_{model}_change", args=[quote(key)])
    return format_html('<a href="{}">{}</a>', address, text or key)


def links_to_lists(found: str, models: Iterable[tuple[str, str]]) -> str:
    """Lead to the lists of other models, searched for this id; each model with the word shown."""
    return format_html_join(
        " \N{MIDDLE DOT} ",
        '<a href="{}?{}">{}</a>',
        (
            (reverse(f"admin:sessions_app_{model}_changelist"), urlencode({"q": found}), word)
            for model, word in models
        ),
    )


@cache
def token_column(name: str) -> Callable[[Row], str]:
    """Make a column that shows enough of a token to compare it, and too little to use it."""

    def shown(row: Row) -> str:
        value = getattr(row, name)
        return f"{value[:_KEPT]}{_MORE}" if value else _NONE

    return _named(shown, name)


@cache
def json_column(name: str) -> Callable[[Row], str]:
    """Make a column that shows JSON, one line for each value in it."""

    def shown(row: Row) -> str:
        value = getattr(row, name)
        return _NONE if value is None else as_lines(value)

    return _named(shown, name)


def _named(shown: Callable[[Row], str], name: str) -> Callable[[Row], str]:
    shown.__name__ = f"shown_{name}"
    return admin.display(description=name.replace("_", " "))(shown)


def as_lines(value: JsonValue, longest: int = LONGEST) -> str:
    """Write a value as lines `path: value`, cut at so many characters."""
    text = ""
    for path, leaf in _leaves(value, ""):
        text += f"{path}: {leaf}\n" if path else f"{leaf}\n"
        if len(text) > longest:
            return f"{text[:longest]}{_MORE} (cut)"
    return text.rstrip("\n")


def _leaves(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{place}]")
    else:
        yield path, json.dumps(value, ensure_ascii=False)


class Linked:
    """Columns that lead to the rows that a row belongs to."""

    @admin.display(description="session", ordering=None)
    def session_link(self, row: Row) -> str:
        """Lead to the Session, under its public name."""
        return link("session", row.session_id, str(row.session) if row.session_id else "")

    @admin.display(description="thread")
    def thread_link(self, row: Row) -> str:
        """Lead to the Thread, under its public name."""
        return link("thread", row.thread_id, row.thread.thread_id)

    @admin.display(description="turn")
    def turn_link(self, row: Row) -> str:
        """Lead to the Turn."""
        return link("turn", row.turn_id)

    @admin.display(description="run")
    def run_link(self, row: Row) -> str:
        """Lead to the Run."""
        return link("run", row.run_id)

    @admin.display(description="call")
    def call_link(self, row: Row) -> str:
        """Lead to the tool call."""
        return link("toolcall", row.call_id)
