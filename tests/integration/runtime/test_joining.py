"""S14: a submit inside a caller's transaction is part of it, and never spoils it."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection, transaction

from sessions_app.contract.errors import Conflict, Invalid, Unavailable
from sessions_app.models import Event, Turn
from sessions_app.models import Session as SessionRow
from sessions_app.store import bell
from tests.covers import poses
from tests.stores import in_thread

if TYPE_CHECKING:
    from sessions_app.runtime import SessionHandle
    from tests.stores import Store


class _Change(Exception):
    """The caller changes its mind."""


@poses("S14")
def test_submit_commits_with_the_caller(session: SessionHandle, store: Store) -> None:
    """S14: the Turn is there exactly when the caller's rows are, and its hint leaves after that."""
    with transaction.atomic():
        User.objects.create(username="ann")
        turn = session.submit("r1", "hello")
        rung_inside = list(store.rings.threads)

    assert rung_inside == []
    assert len(store.rings.threads) == 1
    assert User.objects.count() == Turn.objects.count() == 1
    assert turn.status().status == "QUEUED"


@poses("S14")
def test_submit_vanishes_with_the_caller(session: SessionHandle, store: Store) -> None:
    """S14: rolled back, nothing of it stays: no Turn, no event, no used request id, no hint."""
    events = Event.objects.count()

    with suppress(_Change), transaction.atomic():
        session.submit("r1", "hello")
        raise _Change

    assert Turn.objects.count() == 0
    assert Event.objects.count() == events
    assert store.rings.threads == []
    assert session.submit("r1", "something else").status().status == "QUEUED"


@poses("S14")
def test_awaited_submit_joins_too(session: SessionHandle) -> None:
    """S14: the awaitable twin works in the transaction of the thread that it was called from."""
    with suppress(_Change), transaction.atomic():
        async_to_sync(session.asubmit)("r1", "hello")
        raise _Change

    assert Turn.objects.count() == 0


@poses("S14")
def test_several_submits_in_one_transaction(session: SessionHandle) -> None:
    """S14: each has a savepoint of its own; events stay gapless."""
    with transaction.atomic():
        for number in range(3):
            session.submit(f"r{number}", "hello")

    sequences = list(Event.objects.order_by("sequence").values_list("sequence", flat=True))
    assert sequences == list(range(1, len(sequences) + 1))
    assert Turn.objects.count() == 3


@poses("S14")
def test_refusal_leaves_the_transaction_usable(session: SessionHandle) -> None:
    """S14: a caller may catch the error of a submit and go on."""
    session.submit("r1", "hello")

    with transaction.atomic():
        with pytest.raises(Conflict):
            session.submit("r1", "something else")
        User.objects.create(username="ann")

    assert User.objects.count() == 1


@poses("S14")
@pytest.mark.postgresql
def test_lock_timeout_leaves_the_transaction_usable(session: SessionHandle) -> None:
    """S14, shown on PostgreSQL: a lock timeout is Unavailable and aborts the savepoint alone."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            SessionRow.objects.select_for_update(no_key=True).get()
            held.set()
            assert done.wait(20)

    holder = in_thread(hold)
    assert held.wait(20)
    with transaction.atomic():
        User.objects.create(username="ann")
        with pytest.raises(Unavailable):
            session.submit("r1", "hello")
        User.objects.create(username="bob")
    done.set()
    holder.result(20)

    assert User.objects.count() == 2
    assert Turn.objects.count() == 0


@poses("S14")
@pytest.mark.postgresql
@pytest.mark.parametrize("refused", [False, True])
def test_settings_of_the_caller_are_put_back(session: SessionHandle, *, refused: bool) -> None:
    """S14, shown on PostgreSQL: `SET LOCAL` outlives a savepoint, so it is put back by hand."""
    with transaction.atomic():
        _say("SET LOCAL lock_timeout = '7s'")
        _say("SET LOCAL synchronous_commit = off")
        if refused:
            with pytest.raises(Invalid):
                session.submit("", "hello")
        else:
            session.submit("r1", "hello")
        lock_timeout, synchronous = _ask("lock_timeout"), _ask("synchronous_commit")

    assert lock_timeout == "7s"
    assert synchronous == ("off" if refused else "on")


@poses("S14")
@pytest.mark.postgresql
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_other_isolation_is_refused(session: SessionHandle, level: str) -> None:
    """S14: a submit that would decide on an old snapshot is refused, and the caller goes on."""
    with transaction.atomic():
        _say(f"SET TRANSACTION ISOLATION LEVEL {level}")
        with pytest.raises(Invalid, match="read committed"):
            session.submit("r1", "hello")
        User.objects.create(username="ann")

    assert User.objects.count() == 1
    assert Turn.objects.count() == 0


class _BrokenBell:
    def ring(self, *_: object) -> None:
        """Fail as a client without a broker does."""
        msg = "no broker"
        raise ConnectionError(msg)


@poses("S14")
def test_failing_hook_shows_no_error_after_the_commit(
    session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S14, shown: an on_commit hook that raised would tell of a failure after the commit."""
    monkeypatch.setattr(bell, "wakeups", _BrokenBell)
    heard: list[str] = []

    with transaction.atomic():
        session.submit("r1", "hello")
        transaction.on_commit(partial(heard.append, "the caller's own hook"))

    assert Turn.objects.count() == 1
    assert heard == ["the caller's own hook"]


@poses("S14")
def test_waiting_in_a_transaction_is_refused_at_once(session: SessionHandle) -> None:
    """S14: `call` and `wait` would hold every lock; `call` refuses before it submits."""
    turn = session.submit("r1", "hello")

    with transaction.atomic():
        with pytest.raises(Invalid, match="transaction"):
            session.call("r2", "hello")
        with pytest.raises(Invalid, match="transaction"):
            turn.wait()

    assert Turn.objects.count() == 1


def _say(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _ask(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        (value,) = cursor.fetchone()
    return str(value)
