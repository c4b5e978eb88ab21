"""When a stream ends by itself: the grant is looked at again while it lives (T12)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.test import RequestFactory

from sessions_app.api import stream
from sessions_app.api.seats import SEATS
from sessions_app.contract.errors import Unavailable
from sessions_app.contract.events import EVERYTHING
from sessions_app.contract.grants import Identity, Role
from sessions_app.contract.identity import SessionKey
from sessions_app.store import timeline, tokens
from tests.covers import poses
from tests.web.api.conftest import Program, session_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

KEY = SessionKey("acme", "chat")


def made(program: Program) -> stream._Stream:
    """A stream of a program, as its request would make it."""
    return stream._Stream(tokens.identify(program.secret), KEY, EVERYTHING, timeline.events(KEY))


@poses("T12")
def test_a_revoked_token_ends_its_streams_at_the_next_look(
    program: Callable[..., Program], author: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within half a minute, and not before: a look costs a statement."""
    session_of(author)
    viewer = program(Role.VIEWER)
    lasting = made(viewer)
    tokens.revoke(viewer.token_id, "ann")

    assert asyncio.run(lasting._may_go_on())
    monkeypatch.setattr(stream, "RECHECK_SECONDS", 0.0)
    assert not asyncio.run(lasting._may_go_on())


@poses("T12")
def test_a_grant_that_holds_goes_on_also_while_nobody_can_be_asked(
    author: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is away ends no stream; the next look asks again."""
    session_of(author)
    lasting = made(author)
    monkeypatch.setattr(stream, "RECHECK_SECONDS", 0.0)
    assert asyncio.run(lasting._may_go_on())

    def away(_token_id: str) -> None:
        raise Unavailable

    monkeypatch.setattr(tokens, "holds", away)
    assert asyncio.run(lasting._may_go_on())


@poses("C58", "C59")
def test_a_reader_that_never_began_gives_its_seat_back(author: Program) -> None:
    """Whoever vanishes between the answer's head and its body holds nothing; twice is once."""
    session_of(author)
    before = len(SEATS)
    bearer = {"Authorization": f"Bearer {author.secret}"}
    request = RequestFactory(headers=bearer).get("/")

    answer = stream.stream(request, "acme", "chat")
    taken = len(SEATS)
    answer.close()
    answer.close()

    assert answer.status_code == 200
    assert (before, taken, len(SEATS)) == (0, 1, 0)


@poses("T12")
def test_an_account_that_is_staff_no_more_ends_its_streams(
    site: None, author: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams of browsers end like those of tokens."""
    session_of(author)
    user = User.objects.create_superuser("ann")
    who = Identity("user:ann", frozenset({Role.OPERATOR}), namespaces=None)
    lasting = stream._Stream(who, KEY, EVERYTHING, timeline.events(KEY))
    monkeypatch.setattr(stream, "RECHECK_SECONDS", 0.0)
    assert asyncio.run(lasting._may_go_on())

    user.is_active = False
    user.save()

    assert not asyncio.run(lasting._may_go_on())
