"""Breaches of I41 and I42, planted in Turns that wait for nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from hands_app.contract.ids import new_id
from sessions_app.models import Interaction, Thread, ToolCall, Turn
from sessions_app.store import clock
from sessions_app.store.invariants import check
from sessions_app.store.invariants.look import Look
from sessions_app.store.invariants.statements import statements
from tests.integration.invariants.planting import breached

if TYPE_CHECKING:
    from tests.integration.invariants.world import World

LATER = timedelta(minutes=10)


def _lines(number: int) -> list[str]:
    return breached(quiet=True).get(number, [])


def test_i41_waiting_legally_is_clean(world: World) -> None:
    """A Turn that waits for a tool, one that waits behind it and one in backoff are no breach."""
    world.waiting_for_tool()
    world.submitted("behind")

    assert breached(quiet=True) == {}


def test_i41_nothing_that_is_due_lies(world: World) -> None:
    """A Thread that was due longer ago than a lease and two scans is named."""
    turn = world.submitted()
    with clock.offset(LATER):
        assert any(turn.id in line for line in _lines(41))


def test_i41_an_expired_lease_does_not_lie(world: World) -> None:
    """A Turn whose owner stopped renewing long ago is named."""
    claim = world.running()
    with clock.offset(LATER):
        assert any(claim.turn_id in line for line in _lines(41))


def test_i41_somebody_will_look(world: World) -> None:
    """A Turn that could begin, in a Thread that no scanner will ever look at, is named."""
    turn = world.submitted()
    Thread.objects.filter(id=world.thread.id).update(wake_at=None)

    assert any(f"{turn.id}: QUEUED" in line for line in _lines(41))


def test_i41_wake_at_follows_from_the_rows(world: World) -> None:
    """A Thread that would be looked at later than its rows ask for is named."""
    world.submitted()
    thread = Thread.objects.filter(id=world.thread.id)
    thread.update(wake_at=thread.get().created_at + LATER)

    assert any("its rows ask for" in line for line in _lines(41))


def _waits(world: World, reason: str) -> Turn:
    """Give a Turn that waits for this reason and has nothing of it."""
    call = world.waiting_for_tool()
    ToolCall.objects.filter(id=call.id).update(
        state="NOT_EXECUTED", deliver_at=None, applied_at=call.intended_at, applied_position=1
    )
    Turn.objects.filter(id=call.turn_id).update(reason=reason)
    Thread.objects.filter(id=world.thread.id).update(wake_at=None)
    return Turn.objects.get(id=call.turn_id)


@pytest.mark.parametrize(
    "reason",
    [
        "tool",
        "interaction",
        "signal",
        "backoff",
        "unknown",
        "suspect",
        "incompatible",
        "handed-over",
    ],
)
def test_i42_a_wait_has_an_end(world: World, reason: str) -> None:
    """A Turn that waits for something that does not exist is named, whatever its reason."""
    turn = _waits(world, reason)

    assert any(turn.id in line for line in _lines(42))


def test_i42_an_open_question_ends_a_wait(world: World) -> None:
    """A Turn that waits for a person who was asked is no breach of I42."""
    turn = _waits(world, "interaction")
    nothing = {"applied_at": None, "applied_position": None, "allowed_at": None}
    ToolCall.objects.filter(turn=turn).update(state="INTENDED", **nothing)
    Interaction.objects.create(
        id=new_id("int_"),
        session=world.session,
        turn=turn,
        call=ToolCall.objects.get(turn=turn),
        kind="APPROVAL",
        arguments_digest="sha256:0",
        opened_at=turn.created_at,
    )

    assert _lines(42) == []


def test_i42_an_unknown_call_waits_for_evidence(world: World) -> None:
    """A Turn that waits for the evidence that an UNKNOWN call needs is no breach of I42."""
    turn = _waits(world, "unknown")
    ToolCall.objects.filter(turn=turn).update(
        state="UNKNOWN", applied_at=None, started_at=turn.created_at
    )

    assert _lines(42) == []


def test_i42_an_open_call_is_sent_or_asked_about(world: World) -> None:
    """An external call that nobody will send or query again is named."""
    call = world.waiting_for_tool()
    ToolCall.objects.filter(id=call.id).update(deliver_at=None)

    assert any(call.id in line for line in _lines(42))


@pytest.mark.postgresql
@pytest.mark.usefixtures("database")
def test_i42_no_session_idles_in_a_transaction() -> None:
    """A database session that left its transaction open is named."""
    name = str(connection.settings_dict["NAME"])
    (statement,) = statements("quiet_postgresql")
    with psycopg.connect(settings.DATABASE_URL, dbname=name) as idle:
        idle.execute("SELECT 1")
        look = Look(clock.now(), LATER, rest=timedelta(0))

        assert any("idle in a transaction" in breach.text for breach in statement.find(look))


def test_rest_is_asked_about_only_when_wanted(world: World) -> None:
    """A check of a busy database says that it did not look at what waits."""
    world.submitted()
    Thread.objects.filter(id=world.thread.id).update(wake_at=None)

    report = check()

    assert report.is_clean
    assert {skip.number for skip in report.skipped} >= {41, 42}
