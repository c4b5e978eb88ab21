"""Submission: admitted once and for all, or refused by a stable code with nothing written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.errors import (
    Closed,
    Conflict,
    Invalid,
    NotFound,
    Rejected,
    Unavailable,
)
from sessions_app.models import Command, Event, Message, Thread, Turn
from sessions_app.runtime import DurableRuntime, SessionHandle
from sessions_app.store import bell, clock
from tests.covers import covers, poses
from tests.integration.runtime.world import everything
from tests.stores import AGENT, in_thread

if TYPE_CHECKING:
    from tests.stores import Store

Act = Callable[[SessionHandle], Any]


@covers("R030")
def test_same_request_gives_the_same_turn(session: SessionHandle, store: Store) -> None:
    """I14, R030: a request id with the same content is admitted once, however often it is sent."""
    first = session.submit("r1", "count the errors")
    before = everything()

    second = session.submit("r1", "count the errors")

    assert second == first
    assert everything() == before
    assert store.rings.threads == [Thread.objects.get().pk]


def test_equal_content_is_the_same_content(session: SessionHandle) -> None:
    """I17: words and the version-1 record of the same words are one request."""
    first = session.submit("r1", "hello")

    second = session.submit("r1", {"version": "1", "parts": [{"type": "text", "text": "hello"}]})

    assert second == first


@pytest.mark.parametrize("wanted", [8])
def test_request_sent_by_many_at_once_is_one_turn(session: SessionHandle, wanted: int) -> None:
    """I14: callers that race with one request id all get the one Turn."""
    racing = [in_thread(lambda: session.submit("r1", "hello")) for _ in range(wanted)]

    turns = {future.result(20) for future in racing}

    assert len(turns) == 1
    assert Turn.objects.count() == Command.objects.count() == Message.objects.count() == 1


@covers("R031")
def test_receipt_survives_the_answer(session: SessionHandle, store: Store) -> None:
    """R031: a lost answer is asked for again, also after the Turn has ended."""
    first = session.submit("r1", "hello")
    store.finish(store.claim())

    second = session.submit("r1", "hello")

    assert second == first
    assert second.status().is_terminal


@poses("C29")
def test_a_submit_whose_answer_was_lost_is_found_again(session: SessionHandle) -> None:
    """The commit was done and nobody heard of it: the same request finds its one Turn.

    At once and later, on this connection and on another one; so does a cancel of it.
    """

    def cut(_name: str) -> None:
        raise Unavailable

    with plan({"turn.submit.after_commit": cut}), pytest.raises(Unavailable):
        session.submit("r1", "hello")
    at_once = session.submit("r1", "hello")
    with plan({"turn.control.after_commit": cut}), pytest.raises(Unavailable):
        at_once.cancel("c1")
    with clock.offset(timedelta(seconds=10)):
        later = in_thread(lambda: session.submit("r1", "hello")).result(20)
        receipt = at_once.cancel("c1")

    assert at_once == later
    assert Turn.objects.count() == Message.objects.count() == 1
    assert (receipt.operation, Command.objects.count()) == ("cancel", 2)
    assert Event.objects.filter(type="turn.status").count() == 1


def _closed_thread(session: SessionHandle) -> None:
    other = session.create_thread("aside", AGENT.name)
    other.close()
    other.submit("r2", "hello")


def _closed_session(session: SessionHandle) -> None:
    session.close()
    session.submit("r2", "hello")


PREPARED = {_closed_thread, _closed_session}
BAD: dict[str, tuple[type[Rejected], str, Act]] = {
    "unknown session": (
        NotFound,
        "NOT_FOUND",
        lambda s: SessionHandle(s.key.__class__("acme", "nobody"), s.runtime).submit("r2", "hello"),
    ),
    "foreign session": (
        NotFound,
        "NOT_FOUND",
        lambda s: SessionHandle(s.key.__class__("other", "s1"), s.runtime).submit("r2", "hello"),
    ),
    "unknown thread": (NotFound, "NOT_FOUND", lambda s: s.get_thread("nowhere")),
    "unknown turn": (NotFound, "NOT_FOUND", lambda s: s.get_turn("turn_x")),
    "closed thread": (Closed, "CLOSED", _closed_thread),
    "closed session": (Closed, "CLOSED", _closed_session),
    "unknown agent": (Invalid, "INVALID", lambda s: s.create_thread("aside", "nobody")),
    "wrong version": (Invalid, "INVALID", lambda s: s.create_thread("aside", AGENT.name, "9")),
    "other pin": (Conflict, "CONFLICT", lambda s: s.create_thread("main", AGENT.name, "0")),
    "other content": (Conflict, "CONFLICT", lambda s: s.submit("r1", "something else")),
    "over 1 MiB": (Invalid, "INVALID", lambda s: s.submit("r2", "x" * (1024 * 1024 + 1))),
    "an object": (Invalid, "INVALID", lambda s: s.submit("r2", object())),
    "bytes": (Invalid, "INVALID", lambda s: s.submit("r2", b"hello")),
    "NUL": (Invalid, "INVALID", lambda s: s.submit("r2", "a\0b")),
    "lone surrogate": (Invalid, "INVALID", lambda s: s.submit("r2", "a\ud800b")),
    "unknown member": (
        Invalid,
        "INVALID",
        lambda s: s.submit("r2", {"parts": [{"type": "text", "text": "a"}], "extra": 1}),
    ),
    "no parts": (Invalid, "INVALID", lambda s: s.submit("r2", {"parts": []})),
    "wrong input version": (
        Invalid,
        "INVALID",
        lambda s: s.submit("r2", {"version": "2", "parts": [{"type": "text", "text": "a"}]}),
    ),
    "empty request id": (Invalid, "INVALID", lambda s: s.submit("", "hello")),
    "long request id": (Invalid, "INVALID", lambda s: s.submit("r" * 201, "hello")),
    "request id of a sort": (Invalid, "INVALID", lambda s: s.submit("a b\n", "hello")),
    "bad session id": (
        Invalid,
        "INVALID",
        lambda s: s.runtime.create_session("acme", "a/b", agent=AGENT.name),
    ),
    "open turn at close": (Conflict, "CONFLICT", lambda s: s.close()),
}


@pytest.mark.parametrize(("kind", "code", "act"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_with_nothing_written(
    session: SessionHandle, store: Store, kind: type[Rejected], code: str, act: Act
) -> None:
    """Each bad request has its error and stable code; no row changes and nobody is woken."""
    turn = session.submit("r1", "hello")
    if act in PREPARED:
        store.finish(store.claim())
    before, rung = everything(), len(store.rings.threads)

    with pytest.raises(kind) as refused:
        act(session)

    assert refused.value.code == code
    if act not in PREPARED:
        assert everything() == before
    assert len(store.rings.threads) == rung
    assert Turn.objects.count() == 1
    assert turn.status().request_id == "r1"


def test_request_id_is_taken_in_the_whole_session(session: SessionHandle) -> None:
    """4.1 row 7: the same id for another Thread is another request, so a conflict."""
    aside = session.create_thread("aside", AGENT.name)
    session.submit("r1", "hello")

    with pytest.raises(Conflict):
        aside.submit("r1", "hello")

    assert Turn.objects.count() == 1


def test_refused_request_leaves_its_id_free(session: SessionHandle) -> None:
    """A request that was never admitted may be corrected under the same id."""
    with pytest.raises(Invalid):
        session.submit("r1", "a\0b")

    turn = session.submit("r1", "ab")

    assert turn.status().request_id == "r1"


@covers("R025", "R026")
def test_session_comes_with_its_main_thread_once(
    runtime: DurableRuntime, session: SessionHandle
) -> None:
    """R025, R026: one creation, one pair of lifecycle events, whoever repeats it."""
    before = everything()

    again = runtime.create_session("acme", "s1", agent=AGENT.name, version=AGENT.version)

    assert again == session
    assert everything() == before
    assert [event.type for event in Event.objects.order_by("sequence")] == [
        "session.created",
        "thread.created",
    ]


@covers("R025")
def test_new_session_is_pinned_to_the_newest_version(session: SessionHandle) -> None:
    """R025: without a version the newest one known here is pinned."""
    assert session.main.view().definition == AGENT


@covers("R251")
def test_pin_outlives_a_newer_version(runtime: DurableRuntime) -> None:
    """R251: a repeat without a version, after a deploy, finds the Session with its old pin."""
    first = runtime.create_session("acme", "old", agent=AGENT.name, version="0")

    again = runtime.create_session("acme", "old", agent=AGENT.name)

    assert again == first
    assert again.main.view().definition.version == "0"


class _BrokenBell:
    def ring(self, *_: object) -> None:
        """Fail as a client without a broker does."""
        msg = "no broker"
        raise ConnectionError(msg)


@covers("R242")
def test_failing_hint_undoes_nothing(
    session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R242: the Turn is accepted although its hint cannot be sent; it is due for the next scan."""
    monkeypatch.setattr(bell, "wakeups", _BrokenBell)

    turn = session.submit("r1", "hello")

    assert turn.status().status == "QUEUED"
    assert Thread.objects.get().wake_at is not None
