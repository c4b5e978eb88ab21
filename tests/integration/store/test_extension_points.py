"""Where a host may put its own parts, and what holds whatever it puts there (1.24)."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.db import connection

from sessions_app.contract.backend import FrameDraft
from sessions_app.contract.errors import Invalid, Rejected
from sessions_app.models import Checkpoint, Event, Thread, Turn
from sessions_app.ports import SessionBackend
from sessions_app.store import bell
from sessions_app.store.backend import StoreBackend
from tests.covers import covers, poses
from tests.stores import FRAME, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.contract.identity import DefinitionKey

seen: list[tuple[Any, ...]] = []


def policy(rows: tuple[Any, ...], events: tuple[Any, ...]) -> None:
    """A host's commit policy: looks, and refuses what says no."""
    seen.append((connection.in_atomic_block, rows, events))
    if any(getattr(row, "request_id", "") == "forbidden" for row in rows):
        msg = "the host's policy refuses this"
        raise Rejected(msg)


def calls_out(_rows: tuple[Any, ...], _events: tuple[Any, ...]) -> None:
    """A policy that breaks the ban: it calls something outside."""
    socket.create_connection(("127.0.0.1", 9), timeout=1)


def sleeps(_rows: tuple[Any, ...], _events: tuple[Any, ...]) -> None:
    """A policy that breaks the ban: it waits."""
    time.sleep(0.01)


class Banned(AssertionError):
    """A callback inside a transaction called out or waited."""


@contextmanager
def no_outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forbid network and sleeping, for a host that tests its own commit policy (T53)."""

    def refuse(*_: Any, **__: Any) -> None:
        msg = "a commit policy must not call out or wait: it runs inside the transaction"
        raise Banned(msg)

    with monkeypatch.context() as patched:
        patched.setattr(socket, "create_connection", refuse)
        patched.setattr(time, "sleep", refuse)
        yield


@pytest.fixture
def with_policy(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store with the policy in force."""
    seen.clear()
    monkeypatch.setitem(settings.DURABLE, "COMMIT_POLICY", f"{__name__}.policy")
    return store


@covers("R247")
def test_a_commit_policy_sees_the_records_inside_the_transaction(with_policy: Store) -> None:
    """It gets the new rows and the numbered events before they are committed (R247)."""
    with_policy.submit(with_policy.session())

    inside, rows, events = seen[-1]
    assert inside
    assert {type(row).__name__ for row in rows} == {"Turn", "Message", "Command"}
    assert [event.sequence for event in events] == [3, 4]


@covers("R247", "R241")
def test_a_commit_policy_that_refuses_leaves_nothing(with_policy: Store) -> None:
    """What it raises passes to the caller and the whole change is gone (R247, R241)."""
    key = with_policy.session()

    with pytest.raises(Rejected):
        with_policy.submit(key, "forbidden")

    assert not Turn.objects.exists()
    assert Event.objects.count() == 2


@poses("T53")
@pytest.mark.parametrize("bad", ["calls_out", "sleeps"])
def test_a_policy_that_calls_out_or_sleeps_fails_its_attempt_only(
    store: Store, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    """The helper names the breach; the attempt is undone and the others go on (T53)."""
    key = store.session()
    with no_outside(monkeypatch), monkeypatch.context() as patched:
        patched.setitem(settings.DURABLE, "COMMIT_POLICY", f"{__name__}.{bad}")
        with pytest.raises(Banned):
            store.submit(key, "r1")

    store.submit(key, "r2")
    assert list(Turn.objects.values_list("request_id", flat=True)) == ["r2"]


class _Broken:
    """Wakeups of a host that fail."""

    def ring(self, _thread_pk: str, _definition: DefinitionKey) -> None:
        """Fail."""
        raise ConnectionError


@covers("R242")
def test_a_failing_notification_never_undoes_a_write(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The Turn is accepted, the failure is logged, and the scan finds the Turn (R242)."""
    key = store.session()
    monkeypatch.setattr(bell, "wakeups", _Broken)

    turn_id = store.submit(key)

    assert store.claim().turn_id == turn_id
    assert "Error calling" in caplog.text


@covers("R243")
def test_a_listener_that_failed_leaves_the_thread_to_all(store: Store) -> None:
    """A hint proves nothing was done: until a claim stands every host may look again (R243)."""
    store.submit(store.session())
    (hinted,) = store.rings.threads

    for _ in range(3):  # a listener that raised left no trace
        assert Thread.objects.get(pk=hinted).wake_at is not None
    assert store.claim(first=hinted).thread_pk == hinted


@covers("R240", "R248")
def test_the_store_is_one_backend_behind_its_port() -> None:
    """A Brain knows the port only; another record store takes its place behind it (R240, R248)."""
    wanted = {name for name in vars(SessionBackend) if not name.startswith("_")}
    assert wanted <= set(dir(StoreBackend))


@covers("R237")
@pytest.mark.sqlite
def test_the_default_store_is_one_file_that_reopens(store: Store) -> None:
    """The default is an SQLite file in WAL mode; a new connection finds all of it (R237)."""
    turn_id = store.submit(store.session())
    connection.close()

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone() == ("wal",)
    assert store.turn(turn_id).status == "QUEUED"


@covers("R132")
@poses("C37")
def test_a_checkpoint_is_never_thrown_away_by_null(store: Store) -> None:
    """A frame without a body is refused and the stored one stays (R132)."""
    store.submit(store.session())
    claim = store.claim()
    store.commit(claim, frame=FRAME)

    with pytest.raises(Invalid, match="checkpoint"):
        store.commit(claim, frame=FrameDraft(format=1, harness="s", framework="s 1", body=None))

    assert Checkpoint.objects.get().body == FRAME.body
    native = store.backend.load(claim)
    assert native.frame is not None
    assert native.frame.body == FRAME.body


@covers("R131")
def test_a_frame_carries_its_whole_binding(store: Store) -> None:
    """Harness, definition, state version, position and digest are stored with it (R131)."""
    store.submit(store.session())
    claim = store.claim()
    store.answered(claim)

    frame = store.backend.load(claim).frame

    assert frame is not None
    assert (frame.harness, frame.definition, frame.position) == ("scripted", claim.definition, 1)
    assert frame.digest.startswith("sha256:")
