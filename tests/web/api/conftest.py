"""Programs with tokens of every role, and an agent that the web process knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pytest
from django.test import Client

from sessions_app.api.limits import LIMITS
from sessions_app.contract.grants import Role, TokenDraft
from sessions_app.store import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from django.http import HttpResponse

AGENT = "night-report"
JSON = "application/json"


@dataclass
class Program:
    """A program that calls the API with a token, or without one."""

    secret: str = ""
    token_id: str = ""

    @property
    def subject(self) -> str:
        """Who it is on record."""
        return f"token:a-program#{self.token_id[-8:]}"

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        content_type: str = JSON,
        headers: dict[str, str] | None = None,
    ) -> HttpResponse:
        """Call an address below `/api/v1`."""
        bearer = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        client = Client(raise_request_exception=False)
        answer = client.generic(
            method,
            f"/api/v1{path}",
            data,
            content_type=content_type,
            headers={**bearer, **(headers or {})},
        )
        return cast("HttpResponse", answer)

    def get(self, path: str) -> HttpResponse:
        """Read an address."""
        return self.call("GET", path)

    def post(self, path: str, body: object = None) -> HttpResponse:
        """Post a body."""
        return self.call("POST", path, body)


@pytest.fixture
def program(site: None) -> Callable[..., Program]:
    """Give a maker of programs: by roles, for namespaces (None: all)."""
    LIMITS.forget()

    def make(*roles: Role, namespaces: Iterable[str] | None = ("acme",), **more: Any) -> Program:
        seen = None if namespaces is None else frozenset(namespaces)
        draft = TokenDraft("a-program", frozenset(roles), "ann", seen, **more)
        made = tokens.create(draft)
        return Program(made.secret, made.token.token_id)

    return make


@pytest.fixture
def author(program: Callable[..., Program]) -> Program:
    """Give a program that submits and controls in acme."""
    return program(Role.AUTHOR)


@pytest.fixture
def operator_program(program: Callable[..., Program]) -> Program:
    """Give a program that may everything in acme but be a Brain."""
    return program(Role.OPERATOR)


def said(answer: HttpResponse) -> Any:
    """The JSON of an answer."""
    return json.loads(answer.content)


def session_of(author: Program, name: str = "chat") -> str:
    """Make a Session and return its address."""
    made = author.post("/namespaces/acme/sessions", {"sessionId": name, "agent": AGENT})
    assert made.status_code == 201, made.content
    return f"/namespaces/acme/sessions/{name}"


def turn_of(author: Program, session: str, request: str = "r-1") -> str:
    """Submit a Turn and return its address."""
    body = {"requestId": request, "input": "hello"}
    made = author.post(f"{session}/threads/main/turns", body)
    assert made.status_code == 202, made.content
    return f"{session}/turns/{said(made)['turnId']}"
