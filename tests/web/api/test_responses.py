"""Responses: a document with three statuses, for whoever started it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from sessions_app.contract.grants import Role, TokenDraft
from sessions_app.models import Turn
from sessions_app.store import tokens
from tests.covers import covers
from tests.web.api.conftest import AGENT, Program, said, session_of

if TYPE_CHECKING:
    from collections.abc import Callable

WHERE = "/responses"


def named(name: str, *namespaces: str) -> Program:
    """A program with an identity of its own."""
    draft = TokenDraft(name, frozenset({Role.AUTHOR}), "ann", frozenset(namespaces))
    return Program(tokens.create(draft).secret)


def started(program: Program, session: str = "chat") -> dict[str, Any]:
    """Start a response and give its document."""
    body = {"sessionId": session, "requestId": "r-1", "input": "hello"}
    answer = program.post(WHERE, body)
    assert answer.status_code == 202, answer.content
    document: dict[str, Any] = said(answer)
    return document


@covers("R288", "R291")
def test_who_started_it_polls_by_id_and_session(author: Program) -> None:
    """R288: in progress at first; a repeat of the request is the same response.

    R291: what answers is the Turn's row, so any process does.
    """
    session_of(author)
    document = started(author)

    polled = said(author.get(f"{WHERE}/{document['id']}?sessionId=chat"))

    assert polled == document == started(author)
    assert (polled["status"], polled["output"], polled["error"]) == ("in_progress", None, None)
    bare = Client(headers={"Authorization": f"Bearer {author.secret}"})
    assert said(bare.get(f"/responses/{document['id']}?sessionId=chat")) == document  # type: ignore[arg-type]  # a client's answer is one


@covers("R289")
@pytest.mark.parametrize(
    ("status", "shown", "code"),
    [
        ("QUEUED", "in_progress", None),
        ("RUNNING", "in_progress", None),
        ("WAITING", "in_progress", None),
        ("PAUSED", "in_progress", None),
        ("CANCELLING", "in_progress", None),
        ("COMPLETED", "completed", None),
        ("FAILED", "failed", "failed"),
        ("CANCELLED", "failed", "cancelled"),
    ],
)
def test_there_are_three_statuses(
    author: Program, monkeypatch: pytest.MonkeyPatch, status: str, shown: str, code: str | None
) -> None:
    """R289: a failure is told by a code and words of ours, not by what was raised."""
    session_of(author)
    document = started(author)
    real = Turn.objects.get(pk=document["id"])
    real.status, real.result, real.error_text = status, "done", "secret words of an exception"
    monkeypatch.setattr(
        "sessions_app.store.reads.Turn.objects.select_related", lambda *_: _Rows(real)
    )

    answer = author.get(f"{WHERE}/{document['id']}?sessionId=chat")

    polled = said(answer)
    assert polled["status"] == shown
    assert (polled["error"] or {}).get("code") == code
    assert polled["outputText"] == ("done" if shown == "completed" else None)
    assert b"secret" not in answer.content


class _Rows:
    """One row, whatever is asked for."""

    def __init__(self, row: Turn) -> None:
        self.row = row

    def filter(self, **_wanted: object) -> _Rows:
        """Leave it in."""
        return self

    def first(self) -> Turn:
        """Give it."""
        return self.row


@covers("R290")
def test_for_anybody_else_there_is_none(author: Program, program: Callable[..., Program]) -> None:
    """R290: another user, Session or tenant, and a Turn that is no response, look like nothing."""
    session = session_of(author)
    session_of(author, "other")
    document = started(author)
    plain = said(
        author.post(f"{session}/threads/main/turns", {"requestId": "plain", "input": "hello"})
    )
    place = f"{WHERE}/{document['id']}"
    unknown = f"{WHERE}/turn_01m8qdmbrdfe2agwscnc9rwtar?sessionId=chat"

    answers = [
        author.get(f"{place}?sessionId=other"),
        author.get(f"{WHERE}/{plain['turnId']}?sessionId=chat"),
        named("somebody", "acme").get(f"{place}?sessionId=chat"),
        named("a-program", "elsewhere").get(f"{place}?sessionId=chat"),
        program(Role.OPERATOR, namespaces=["elsewhere"]).get(f"{place}?sessionId=chat"),
    ]
    nothing = author.get(unknown)

    assert nothing.status_code == 404
    shape = said(nothing)["detail"].replace("turn_01m8qdmbrdfe2agwscnc9rwtar", "?")
    for answer in answers:
        assert answer.status_code == 404
        said_of_it = said(answer)["detail"]
        for name in (document["id"], plain["turnId"]):
            said_of_it = said_of_it.replace(name, "?")
        assert said_of_it == shape


def test_who_sees_several_namespaces_names_one(program: Callable[..., Program]) -> None:
    """No tenant is guessed."""
    both = program(Role.AUTHOR, namespaces=["acme", "other"])
    both.post("/namespaces/other/sessions", {"sessionId": "chat", "agent": AGENT})
    body = {"sessionId": "chat", "requestId": "r", "input": "x"}

    unsaid, foreign = both.post(WHERE, body), both.post(WHERE, {**body, "namespace": "third"})

    assert (unsaid.status_code, said(unsaid)["code"]) == (400, "INVALID")
    assert (foreign.status_code, said(foreign)["code"]) == (404, "NOT_FOUND")
    assert both.post(WHERE, {**body, "namespace": "other"}).status_code == 202
