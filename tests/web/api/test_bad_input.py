"""Bad input: the right code, nothing written, no word of what is inside, and soon."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from sessions_app.api.site import api
from sessions_app.contract.grants import Role
from sessions_app.models import Command, Session, Signal, StandingRule, Thread, Turn
from tests.covers import covers, poses
from tests.web.api.conftest import Program, said, session_of, turn_of
from tests.web.api.test_closed import NAMES, _body_of, operations

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpResponse

SECONDS = 2.0
INSIDE = ("Traceback", "sessions_app", "django", "SELECT", 'File "', ".py", "psycopg", "sqlite")
STRICT = {
    "no JSON",
    "a second root",
    "a key twice",
    "NUL",
    "half a pair",
    "no UTF-8",
    "a rounded number",
    "not a number",
    "1,000 levels",
}
"""What the loader refuses, before anybody looks at a field."""
WRITING = [path for method, path in operations() if method in {"POST", "PUT"}]
READING = [path for method, path in operations() if method == "GET"]
PAGED = [
    path.removeprefix("/api/v1").format(**NAMES)
    for path, found in api.get_openapi_schema()["paths"].items()
    if any(each["name"] == "limit" for each in found.get("get", {}).get("parameters", ()))
]
COUNTED = (Session, Thread, Turn, Command, Signal, StandingRule)


def _bad_bodies(path: str) -> dict[str, tuple[bytes, int]]:
    """Name bodies that are refused, each with its status."""
    good = json.dumps(_body_of(path))[:-1]
    more = good + ("," if len(good) > 1 else "")
    return {
        "nothing": (b"", 400),
        "no JSON": (b"{", 400),
        "a list": (b"[]", 400),
        "a second root": (f'{more}"a":1}} {{}}'.encode(), 400),
        "a key twice": (f'{more}"twice":1,"twice":1}}'.encode(), 400),
        "an unknown field": (f'{more}"unknownField":1}}'.encode(), 400),
        "NUL": (f'{more}"x":"a\\u0000b"}}'.encode(), 400),
        "half a pair": (f'{more}"x":"\\ud800"}}'.encode(), 400),
        "no UTF-8": (f'{more}"x":"'.encode() + b'\xff"}', 400),
        "a rounded number": (f'{more}"x":9007199254740993}}'.encode(), 400),
        "not a number": (f'{more}"x":NaN}}'.encode(), 400),
        "1,000 levels": (f'{more}"x":{"[" * 1000}{"]" * 1000}}}'.encode(), 400),
        "20 MB": (f'{more}"x":"{"x" * 20_000_000}"}}'.encode(), 413),
    }


NAMES_THAT_ARE_NONE = (
    "events__payload",
    "_connector",
    "session__namespace",
    "limit__gte",
    'id" OR 1=1 --',
    "id'; DROP TABLE sessions_app_session; --",
    "payload->>'x'",
    "n" * 10_000,
)


@poses("C28")
@pytest.mark.parametrize("path", READING)
def test_a_name_from_outside_reaches_no_statement(
    program: Callable[..., Program], path: str
) -> None:
    """C28: parameters come from closed lists; whatever else a query names is refused."""
    asking = program(Role.OPERATOR)
    place = path.removeprefix("/api/v1").format(**NAMES)

    refused = {asking.get(f"{place}?{quote(name)}=1").status_code for name in NAMES_THAT_ARE_NONE}

    assert refused == {400}


@covers("R123")
@poses("T10", "C13", "C14", "C15", "C16", "C17")
@pytest.mark.parametrize("path", WRITING)
def test_a_bad_body_is_refused_and_writes_nothing(
    program: Callable[..., Program], path: str
) -> None:
    """R123, T10: every writing operation through the one strict loader."""
    caller = program(Role.OPERATOR)
    method = "PUT" if path.endswith("/retention") else "POST"
    before = _counts()
    for name, (raw, status) in _bad_bodies(path).items():
        if path.endswith("/close") and status == 400:
            continue  # takes no body, and so looks at none
        answer = _in_time(partial(caller.call, method, path, raw=raw))
        if path.endswith("/close"):
            continue
        assert answer.status_code == status, (name, answer.content[:300])
        assert (name in STRICT) == said(answer)["detail"].startswith("the body is refused: "), name
        _check_problem(answer)
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        if not path.endswith("/close"):
            answer = caller.call(method, path, raw=b"{}", content_type=content_type)
            assert answer.status_code == 415, content_type
            _check_problem(answer)

    assert _counts() == before


@poses("T10")
@pytest.mark.parametrize("path", READING)
def test_an_unknown_parameter_is_refused(program: Callable[..., Program], path: str) -> None:
    """A slip in a query is told, never passed over; so is a parameter that comes twice."""
    caller = program(Role.OPERATOR, namespaces=None)
    for query in ("limt=3", "limit=3&limit=4", "%00=1", "cursor=a&cursor=b"):
        answer = caller.get(f"{path}?{query}")
        assert answer.status_code == 400, query
        _check_problem(answer)


@poses("T10")
@pytest.mark.parametrize("path", PAGED)
def test_a_bad_page_is_refused(program: Callable[..., Program], path: str) -> None:
    """Limits that are negative, huge or no number, and cursors that nobody gave."""
    caller = program(Role.OPERATOR)
    limits = ("-1", "0", "1001", str(2**63), "1e3", "", "ten", "1.5")
    cursors = ("x", "%00", "é", "A" * 600, "W10", "bnVsbA", "WyJhIiwtMV0")
    for query in (*(f"limit={each}" for each in limits), *(f"cursor={each}" for each in cursors)):
        answer = _in_time(partial(caller.get, f"{path}?{query}"))
        assert answer.status_code in {400, 404}, (query, answer.content[:200])
        _check_problem(answer)


@pytest.mark.parametrize(
    "name", ["a/b", "..", "%00", "%2e%2e", "a b", "é", "x" * 129, "%ud800", "'"]
)
def test_a_bad_name_is_refused(program: Callable[..., Program], name: str) -> None:
    """In each position of a path: refused or nowhere, never an error of ours."""
    caller = program(Role.OPERATOR, namespaces=None)
    for path in READING:
        for value in NAMES.values():
            if f"/{value}" in path:
                answer = caller.get(path.replace(f"/{value}", f"/{name}", 1))
                assert answer.status_code in {400, 404}, path
                _check_problem(answer)


@poses("T47")
def test_a_bug_says_nothing_of_the_inside(author: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """T47: an error that nobody foresaw is 500 with a stable code; its words are in the log."""
    session = session_of(author)

    def broken(*_given: Any) -> None:
        raise RuntimeError("SELECT secret FROM /etc/sessions_app.py")  # noqa: EM101, TRY003 - bait

    monkeypatch.setattr("sessions_app.store.reads.session", broken)
    answer = author.get(session)

    assert (answer.status_code, said(answer)["code"]) == (500, "INTERNAL")
    _check_problem(answer)


@poses("T5")
def test_an_answer_of_the_wrong_kind_is_refused(
    program: Callable[..., Program], author: Program
) -> None:
    """T5: `respond` takes interactions alone, no execution and nothing of another Turn."""
    turn = turn_of(author, session_of(author))
    approver = program(Role.APPROVER)
    for name in (NAMES["interactionId"], NAMES["executionId"], NAMES["turnId"]):
        body = {"requestId": "a", "response": {"result": "forged"}}
        answer = approver.post(f"{turn}/interactions/{name}/respond", body)
        assert (answer.status_code, said(answer)["code"]) == (404, "NOT_FOUND")


def _counts() -> list[int]:
    return [model._default_manager.count() for model in COUNTED]


def _in_time(ask: Callable[[], HttpResponse]) -> HttpResponse:
    """The answer, the best of three: what is refused changes nothing, and a machine may be busy."""
    for _ in range(3):
        begun = time.monotonic()
        answer = ask()
        if (taken := time.monotonic() - begun) < SECONDS:
            break
    assert taken < SECONDS
    return answer


def _check_problem(answer: HttpResponse) -> None:
    assert answer["Content-Type"] == "application/problem+json"
    problem = said(answer)
    assert problem.keys() == {"type", "title", "status", "code", "detail", "retryable"}
    assert problem["status"] == answer.status_code
    text = answer.content.decode()
    assert [word for word in INSIDE if word in text] == []


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        ("/namespaces/acme/sessions/chat/retention", "events", True),
        ("/namespaces/acme/sessions/chat/retention", "events", "5"),
        ("/namespaces/acme/sessions/chat/retention", "events", 5.5),
        ("/namespaces/acme/rules", "allow", "yes"),
        ("/namespaces/acme/rules", "allow", 1),
        (f"/namespaces/acme/sessions/chat/turns/{NAMES['turnId']}/resume", "expectedRevision", "1"),
        (f"/namespaces/acme/sessions/chat/turns/{NAMES['turnId']}/pause", "requestId", 7),
    ],
)
def test_a_value_of_another_type_is_refused(
    program: Callable[..., Program], path: str, field: str, value: object
) -> None:
    """Nothing is taken for what it nearly is: true is no number, "yes" is no truth."""
    method = "PUT" if path.endswith("/retention") else "POST"

    answer = program(Role.OPERATOR).call(method, path, {**_body_of(path), field: value})

    assert answer.status_code == 400
    assert field in said(answer)["detail"]
