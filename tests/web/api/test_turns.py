"""What a program does over HTTP is what the runtime does: one truth, the same views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sessions_app.contract import wire
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.views import SessionView, TurnView
from sessions_app.models import AuditEntry, Turn
from sessions_app.registry import Registry
from sessions_app.runtime import DurableRuntime, definitions
from sessions_app.store import reads
from tests.covers import covers, poses
from tests.web.api.conftest import AGENT, Program, said, session_of, turn_of

if TYPE_CHECKING:
    import pytest


@covers("R114", "R115")
def test_an_existing_session_needs_no_agent_here(
    author: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R114, R115: a web process without any agent submits, reads and controls."""
    session = session_of(author)
    monkeypatch.setattr(definitions, "registry", Registry())

    turn = turn_of(author, session)

    assert said(author.get(turn))["status"] == "QUEUED"
    assert author.post(f"{turn}/pause", {"requestId": "p"}).status_code == 202
    new = author.post("/namespaces/acme/sessions", {"sessionId": "n", "agent": AGENT})
    assert (new.status_code, said(new)["code"]) == (400, "INVALID")


def test_http_gives_the_views_of_the_runtime(author: Program) -> None:
    """Each answer is the view that Python callers get, in camelCase."""
    session = session_of(author)
    turn = turn_of(author, session)
    key = SessionKey("acme", "chat")

    shown = wire.parse(TurnView, said(author.get(turn)))

    assert shown == reads.turn(turn.rsplit("/", 1)[-1])
    assert wire.parse(SessionView, said(author.get(session))) == reads.session(key)
    with DurableRuntime() as runtime:
        told = runtime.get_session("acme", "chat").list_events()
    assert said(author.get(f"{session}/events")) == wire.render(told)
    assert said(author.get(f"{session}/snapshot"))["turns"][shown.turn_id] == said(author.get(turn))


@poses("C29")
def test_a_repeat_of_the_same_request_gives_the_same_receipt(author: Program) -> None:
    """C29, C31: an answer that was lost is asked for again; other content is a conflict."""
    session = session_of(author)
    submit = f"{session}/threads/main/turns"
    body = {"requestId": "once", "input": "hello"}

    first, again = author.post(submit, body), author.post(submit, body)
    other = author.post(submit, {**body, "input": "something else"})

    assert said(first) == said(again)
    assert (other.status_code, said(other)["code"]) == (409, "CONFLICT")
    assert "hello" not in other.content.decode()
    assert Turn.objects.count() == 1


@poses("C32")
def test_controls_prove_admission_and_name_who_asked(author: Program) -> None:
    """Each control gives its receipt; what the Turn's status forbids is a conflict."""
    turn = turn_of(author, session_of(author))
    asked: dict[str, dict[str, Any]] = {
        "steer": {"input": "left"},
        "inject": {"input": {"version": "1", "parts": [{"type": "text", "text": "note"}]}},
        "withdraw": {"target": "r-steer"},
        "signals": {"key": "x.acme.go", "content": {"any_name": 1}},
        "pause": {},
        "cancel": {},
    }

    for name, body in asked.items():
        answer = author.post(f"{turn}/{name}", {"requestId": f"r-{name}", **body})
        assert answer.status_code == 202, (name, answer.content)
    closed = author.post(f"{turn}/steer", {"requestId": "late", "input": "x"})

    assert (closed.status_code, said(closed)["code"]) == (409, "CLOSED")
    assert set(AuditEntry.objects.filter(target=turn[-31:]).values_list("actor", flat=True)) == {
        author.subject
    }


def test_pages_lead_on(author: Program) -> None:
    """`nextCursor` is the next page's cursor; an empty one begins, another list's is refused."""
    for name in ("a", "b", "c"):
        session_of(author, name)
    where = "/namespaces/acme/sessions"

    first = said(author.get(f"{where}?limit=2&cursor="))
    rest = said(author.get(f"{where}?limit=2&cursor={first['nextCursor']}"))
    other = author.get(f"{where}/a/threads?cursor={first['nextCursor']}")

    assert [each["sessionId"] for each in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["nextCursor"] is None
    assert (other.status_code, said(other)["code"]) == (400, "INVALID")


@covers("R126")
def test_an_expired_cursor_is_gone(author: Program) -> None:
    """R126: a cursor of another incarnation is 410, another Session's is refused."""
    session, other = session_of(author, "a"), session_of(author, "b")
    cursor = said(author.get(f"{session}/events"))["nextCursor"]
    ahead = said(author.get(f"{session}/events?limit=1"))["nextCursor"]

    crossed = author.get(f"{other}/events?cursor={cursor}")
    assert (crossed.status_code, said(crossed)["code"]) == (400, "INVALID")
    assert author.get(f"{session}/events?cursor={ahead}").status_code == 200
    _restore_from_a_copy()
    gone = author.get(f"{session}/events?cursor={cursor}")
    assert (gone.status_code, said(gone)["code"]) == (410, "CURSOR_EXPIRED")


def _restore_from_a_copy() -> None:
    """Give the store a new incarnation, as a restored database has."""
    from sessions_app.models import StoreState  # noqa: PLC0415 - what this test alone writes

    StoreState.objects.update(incarnation="inc_restored")
