"""`manage.py durable` events, snapshot, prune, purge: what they show, and what they take away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.machine.retention import Keep
from sessions_app.management import exits
from sessions_app.models import AuditEntry, Event, PurgeMarker, Session
from sessions_app.store import admission, retention
from tests.covers import covers, poses
from tests.web.terminal import durable

if TYPE_CHECKING:
    from sessions_app.contract.identity import SessionKey
    from tests.stores import Store


@pytest.fixture
def key(store: Store) -> SessionKey:
    """Give the Session acme/s1 with one Turn that has ended."""
    key = store.session("s1")
    store.submit(key)
    store.finish(store.claim())
    return key


@covers("R018")
def test_events_come_page_after_page(key: SessionKey) -> None:
    """The cursor that was printed goes on where the page ended."""
    first = durable("events", "acme/s1", "--limit", "3", "--json").data
    again = durable("events", "acme/s1", "--cursor", first["nextCursor"], "--json").data

    assert [event["sequence"] for event in first["items"]] == [1, 2, 3]
    assert again["items"][0]["sequence"] == 4
    assert again["through"] == again["lastSequence"]


def test_events_are_lines_for_people(key: SessionKey) -> None:
    """One line an event, with its payload, however long, on that line."""
    turn_id = Event.objects.get(type="turn.admitted").turn_id or ""
    whole, thread, turn = (durable("events", name) for name in ("acme/s1", "acme/s1/main", turn_id))

    assert 'session.created  {"namespace": "acme", "sessionId": "s1"}' in whole.out
    assert "thread.created main" in thread.out
    assert "session.created" not in thread.out
    assert "thread.created" not in turn.out
    assert "turn.admitted" in turn.out


def test_a_snapshot_is_what_a_projection_begins_with(key: SessionKey) -> None:
    """All views, and the cursor to go on from."""
    plain, data = durable("snapshot", "acme/s1"), durable("snapshot", "acme/s1", "--json").data

    assert "turn" in plain.out
    assert f"cursor {data['cursor']}" in plain.out
    assert data["session"]["status"] == "OPEN"
    assert [turn["status"] for turn in data["turns"].values()] == ["COMPLETED"]


@covers("R070")
def test_prune_does_what_its_dry_run_says(key: SessionKey) -> None:
    """The dry run deletes nothing; without a name every Session that is due is pruned."""
    retention.retain(key, Keep(events=2))
    before = Event.objects.count()

    said = durable("prune", "acme/s1", "--dry-run")
    left = Event.objects.count()
    done = durable("prune", "--json")

    assert f"{before - 2} events would go" in said.out
    assert left == before
    assert done.data["events"] == before - 2
    assert Event.objects.count() == 2


def test_a_session_is_closed_once_nothing_runs_in_it(key: SessionKey, store: Store) -> None:
    """The shell says what is in the way; a repeat finds it closed, and a Turn cannot be closed."""
    turn_id = store.submit(key, "r2")
    refused = durable("close", "acme/s1")
    store.finish(store.claim())

    closed = [durable("close", scope, "--json") for scope in ("acme/s1/main", "acme/s1", "acme/s1")]

    assert refused.err.startswith("CONFLICT: ")
    assert [answer.code for answer in closed] == [exits.DONE] * 3
    assert closed[-1].data["closedAt"]
    assert durable("submit", "acme/s1", "hello", "--request-id", "r3").err.startswith("CLOSED: ")
    assert durable("close", turn_id).err.startswith("INVALID: a turn is not closed but cancelled")


@poses("T49")
def test_purge_shows_first_and_asks_for_a_yes(key: SessionKey) -> None:
    """Counts by table, nothing deleted; with --yes it goes, and who did it stays on record."""
    admission.close_session(key)

    shown = durable("purge", "acme/s1")
    kept = Session.objects.count()
    done = durable("purge", "acme/s1", "--yes", "--actor", "ann", "--reason", "asked", "--json")

    assert "1 turns" in shown.out
    assert "--yes deletes all of it" in shown.out
    assert kept == 1
    assert done.data["rows"]["turns"] == 1
    assert (Session.objects.count(), Event.objects.count()) == (0, 0)
    assert PurgeMarker.objects.get().reason == AuditEntry.objects.get().reason == "asked"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("events", "acme/nobody"), "NOT_FOUND"),
        (("events", "turn_nobody"), "NOT_FOUND"),
        (("events", "acme/s1/main/more"), "INVALID"),
        (("events", "acme/s1", "--cursor", "nonsense"), "INVALID"),
        (("snapshot", "acme/s1/nowhere"), "NOT_FOUND"),
        (("prune", "acme"), "INVALID"),
        (("prune", "acme/nobody"), "NOT_FOUND"),
        (("purge", "acme/s1"), "CONFLICT"),
        (("purge", "acme/s1", "--yes", "--reason", "asked"), "CONFLICT"),
        (("purge", "acme/s1", "--yes"), "INVALID"),
        (("purge", "acme/nobody", "--yes", "--reason", "asked"), "NOT_FOUND"),
    ],
    ids=" ".join,
)
def test_refusals_are_one_line_with_a_code(
    key: SessionKey, words: tuple[str, ...], code: str
) -> None:
    """Nothing is written, and the line names what was asked for."""
    answer = durable(*words)

    assert answer.err.startswith(f"{code}: ")
    assert answer.code != exits.DONE
    assert Session.objects.count() == 1
