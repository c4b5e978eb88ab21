"""The API is closed: who may come in, what each role may, and how a foreign thing looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.api.site import OPEN, api
from sessions_app.contract.grants import GRANTED, Operation, Role
from sessions_app.models import AuditEntry, Token
from sessions_app.store import clock, tokens
from tests.covers import covers, poses
from tests.web.api.conftest import AGENT, Program, said, session_of, turn_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import Settings

ID = "01m8qdmbrdfe2agwscnc9rwtar"
NAMES = {
    "namespace": "acme",
    "sessionId": "chat",
    "threadId": "main",
    "turnId": f"turn_{ID}",
    "runId": f"run_{ID}",
    "stepId": f"step_{ID}",
    "modelCallId": f"call_{ID}",
    "interactionId": f"int_{ID}",
    "executionId": f"exe_{ID}",
    "ruleId": f"rule_{ID}",
    "responseId": f"turn_{ID}",
    "agent": AGENT,
    "version": "1",
}


def operations() -> list[tuple[str, str]]:
    """Give method and address of every operation of the document."""
    paths = api.get_openapi_schema()["paths"]
    return [
        (method.upper(), path.removeprefix("/api/v1").format(**NAMES))
        for path, found in paths.items()
        for method in found
    ]


@covers("R117")
@poses("T1")
@pytest.mark.parametrize(("method", "path"), operations())
def test_nobody_comes_in_without_a_token(
    program: Callable[..., Program], method: str, path: str
) -> None:
    """T1: no, wrong, expired, revoked token and another scheme: 401, in one form."""
    expired = program(Role.OPERATOR, expires_at=datetime(2099, 1, 1, tzinfo=UTC))
    Token.objects.filter(pk=expired.token_id).update(expires_at=clock.now() - timedelta(seconds=1))
    revoked = program(Role.OPERATOR)
    tokens.revoke(revoked.token_id, "ann")
    wrong = Program("dst_" + "x" * 43)

    answers = [each.call(method, path) for each in (Program(), expired, revoked, wrong)]
    good = program(Role.OPERATOR).secret
    headers = (f"Basic {good}", good, f"bearer{good}", "Bearer", f"Bearer {good}x")
    answers += [Program().call(method, path, headers={"Authorization": each}) for each in headers]

    assert {each.status_code for each in answers} == {401}
    assert {said(each)["code"] for each in answers} == {"UNAUTHENTICATED"}
    assert {each["WWW-Authenticate"] for each in answers} == {"Bearer"}


@poses("T1")
def test_what_is_open_is_listed(site: None) -> None:
    """T1: of all addresses below `/api/`, two answer without a token."""
    answers = {path: Client().get(path).status_code for path in OPEN}

    assert set(answers.values()) == {200}
    assert {"/api/docs", "/api/v1/openapi.json"} == OPEN


@covers("R116", "R128")
@poses("T6")
@pytest.mark.parametrize("role", list(Role))
def test_a_role_may_what_it_names(program: Callable[..., Program], role: Role) -> None:
    """T6: an operation of each kind answers 403 exactly for roles that do not cover it."""
    caller = program(role)
    turn = f"/namespaces/acme/sessions/chat/turns/{NAMES['turnId']}"
    asked = {
        Operation.READ: caller.get("/namespaces/acme/sessions"),
        Operation.SUBMIT: caller.post(
            "/namespaces/acme/sessions", {"sessionId": "chat", "agent": AGENT}
        ),
        Operation.CONTROL: caller.post(f"{turn}/pause", {"requestId": "r"}),
        Operation.APPROVE: caller.post(
            f"{turn}/interactions/{NAMES['interactionId']}/respond",
            {"requestId": "r", "response": True},
        ),
        Operation.OPERATE: caller.post(f"{turn}/release", {"requestId": "r"}),
    }

    refused = {operation for operation, each in asked.items() if each.status_code == 403}

    assert refused == asked.keys() - GRANTED[role]


@covers("R129")
@poses("T4")
@pytest.mark.parametrize("verb", ["claim", "renew", "commit", "results", "state", "objects"])
def test_privileged_operations_do_not_exist_here(
    program: Callable[..., Program], author: Program, verb: str
) -> None:
    """T4: with the token of a user or of a Brain, what Brains do is no address of this handler."""
    session = session_of(author)
    for caller in (author, program(Role.OPERATOR), program(Role.HOST)):
        for path in (f"/{verb}", f"/hosts/{verb}", f"{session}/{verb}"):
            assert caller.post(path, {}).status_code == 404


@poses("T2", "C81")
def test_foreign_and_unknown_look_alike(author: Program, program: Callable[..., Program]) -> None:
    """T2: every id position, own names in all others: the same status and the same body."""
    mine = session_of(author)
    turn_of(author, mine)
    theirs = program(Role.OPERATOR, namespaces=["other"])
    body: dict[str, Any] = {"sessionId": "chat", "agent": AGENT}
    theirs.post("/namespaces/other/sessions", body)
    foreign = turn_of_other(theirs)

    for method, path in operations():
        if "/turns/" not in path:
            continue
        unknown = author.call(method, path, {"requestId": "r"})
        crossed = author.call(method, path.replace(NAMES["turnId"], foreign), {"requestId": "r"})
        assert crossed.status_code == unknown.status_code, path
        assert said(crossed)["code"] == said(unknown)["code"]
        if unknown.status_code == 404:
            assert (
                said(crossed)["detail"].replace(foreign, NAMES["turnId"]) == said(unknown)["detail"]
            )


def turn_of_other(theirs: Program) -> str:
    """Submit a Turn in the other tenant and return its id."""
    sent = theirs.post(
        "/namespaces/other/sessions/chat/threads/main/turns", {"requestId": "r", "input": "x"}
    )
    return str(said(sent)["turnId"])


@poses("T2")
@pytest.mark.parametrize(("method", "path"), [o for o in operations() if "/acme" in o[1]])
def test_a_foreign_namespace_looks_like_nothing(
    program: Callable[..., Program], method: str, path: str
) -> None:
    """T2: whether the other tenant has it or not, the answer is one and says nothing."""
    theirs = program(Role.OPERATOR, namespaces=["other"])
    session_of(program(Role.OPERATOR))
    body = _body_of(path)

    there = theirs.call(method, path, body)
    nowhere = theirs.call(method, path.replace("/acme/", "/nowhere/"), body)

    assert there.status_code == nowhere.status_code == 404
    assert there.content == nowhere.content


def _body_of(path: str) -> dict[str, Any]:
    """A body that fits the address, so that nothing else is refused first."""
    last = path.rsplit("/", 1)[-1]
    bodies: dict[str, dict[str, Any]] = {
        "sessions": {"sessionId": "new", "agent": AGENT},
        "threads": {"threadId": "new", "agent": AGENT},
        "turns": {"requestId": "r", "input": "x"},
        "steer": {"requestId": "r", "input": "x"},
        "inject": {"requestId": "r", "input": "x"},
        "withdraw": {"requestId": "r", "target": "x"},
        "resume": {"requestId": "r", "expectedRevision": 1},
        "signals": {"requestId": "r", "key": "x.a.b"},
        "respond": {"requestId": "r", "response": True},
        "rules": {"tool": "send", "allow": True},
        "revoke": {},
        "repin": {"version": "1"},
        "retention": {},
        "close": {},
    }
    return bodies.get(last, {"requestId": "r"})


@poses("T9")
def test_a_request_id_of_another_tenant_tells_nothing(
    author: Program, program: Callable[..., Program]
) -> None:
    """T9: the same request id and content in another tenant is a request of its own."""
    first = turn_of(author, session_of(author), "guessed")
    other = program(Role.AUTHOR, namespaces=["other"])
    other.post("/namespaces/other/sessions", {"sessionId": "chat", "agent": AGENT})

    sent = other.post(
        "/namespaces/other/sessions/chat/threads/main/turns",
        {"requestId": "guessed", "input": "hello"},
    )

    assert sent.status_code == 202
    assert said(sent)["turnId"] not in first


@poses("T8")
def test_a_signed_in_browser_needs_its_csrf_token(site: None, author: Program) -> None:
    """T8: a cookie alone reads, and writes only with the token that the page had."""
    session = session_of(author)
    turn = turn_of(author, session)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_superuser("ann"))

    assert browser.get(f"/api/v1{session}").status_code == 200
    posted: dict[str, Any] = {"data": '{"requestId":"p"}', "content_type": "application/json"}
    refused: Any = browser.post(f"/api/v1{turn}/pause", **posted)
    assert (refused.status_code, said(refused)["code"]) == (403, "FORBIDDEN")

    browser.get("/admin/")
    token = browser.get("/admin/password_change/").cookies["csrftoken"].value
    taken = browser.post(f"/api/v1{turn}/pause", headers={"X-CSRFToken": token}, **posted)
    assert taken.status_code == 202


def test_an_account_without_staff_rights_is_nobody(site: None) -> None:
    """Accounts of other apps in the same Django open nothing here."""
    browser = Client()
    browser.force_login(User.objects.create_user("guest"))

    assert browser.get("/api/v1/namespaces/acme/sessions").status_code == 401


@poses("T7")
def test_who_asks_too_often_is_told_when_to_come_again(
    program: Callable[..., Program], settings: Settings
) -> None:
    """T7: a flood gets 429 with Retry-After; another tenant's token is not touched by it."""
    flood = program(Role.VIEWER, rate=0.01)
    other = program(Role.VIEWER, namespaces=["other"], rate=0.01)
    first, late = (flood.get("/namespaces/acme/sessions") for _ in range(2))

    assert (first.status_code, late.status_code) == (200, 429)
    assert other.get("/namespaces/other/sessions").status_code == 200
    assert said(late)["code"] == "RATE_LIMITED"
    assert said(late)["retryable"] is True
    assert int(late["Retry-After"]) >= 1


def test_a_decision_is_on_record_with_who_made_it(
    author: Program, program: Callable[..., Program]
) -> None:
    """T6: whoever acts by token is named in the audit trail and in the command."""
    turn = turn_of(author, session_of(author))
    operator = program(Role.OPERATOR)
    made = operator.post("/namespaces/acme/rules", {"tool": "send", "allow": False, "reason": "no"})

    assert author.post(f"{turn}/pause", {"requestId": "p"}).status_code == 202
    assert made.status_code == 201
    assert said(made)["createdBy"] == operator.subject != author.subject
    assert AuditEntry.objects.get(action="rule.created").actor == operator.subject
