"""Breaches of I1 to I4 and I9, planted in the rows of Turns."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.events import EventType
from sessions_app.models import Event, JournalEntry, Message, Run, Turn
from sessions_app.store import clock
from tests.integration.invariants.planting import (
    breached,
    newest,
    refused,
    retold,
    told,
    unguarded,
)

if TYPE_CHECKING:
    from tests.integration.invariants.world import World

LATER = timedelta(minutes=1)


def test_i1_a_turn_ends_once(world: World) -> None:
    """A move behind the terminal event is named."""
    turn = world.finished()
    revision = turn.revision + 1
    told(turn, EventType.TURN_STATUS, {"from": "COMPLETED", "to": "FAILED", "revision": revision})

    assert 1 in breached()


def test_i1_the_stored_status_is_the_terminal_one(world: World) -> None:
    """A row that says something else than the terminal event is named."""
    turn = world.finished()
    Turn.objects.filter(id=turn.id).update(status="CANCELLED")

    assert 1 in breached()


@pytest.mark.parametrize("model", [Message, JournalEntry])
def test_i1_nothing_is_written_behind_the_end(
    world: World, model: type[Message | JournalEntry]
) -> None:
    """A message or journal entry that is younger than the Turn's end is named."""
    turn = world.finished()
    assert turn.finished_at is not None
    model._base_manager.filter(turn=turn).update(at=turn.finished_at + LATER)

    assert 1 in breached()


def test_i1_no_run_begins_behind_the_end(world: World) -> None:
    """A Run that began after the Turn's end is named."""
    turn = world.finished()
    assert turn.finished_at is not None
    late = turn.finished_at + LATER
    Run.objects.filter(turn=turn).update(started_at=late, ended_at=late)

    assert 1 in breached()


def test_i2_every_move_is_legal(world: World) -> None:
    """A move that the table does not list is named."""
    turn = world.finished()
    move = newest(turn, EventType.TURN_STATUS)
    retold(move, payload={**move.payload, "to": "PAUSED"})

    assert any("not legal" in line for line in breached()[2])


def test_i2_every_move_raises_the_revision_by_one(world: World) -> None:
    """A revision that was left out is named."""
    turn = world.finished()
    move = newest(turn, EventType.TURN_STATUS)
    retold(move, payload={**move.payload, "revision": turn.revision + 1})

    assert any("revision" in line for line in breached()[2])


def test_i2_every_move_starts_where_the_last_one_ended(world: World) -> None:
    """A move from a status at which the Turn did not stand is named."""
    turn = world.finished()
    move = newest(turn, EventType.TURN_STATUS)
    retold(move, payload={**move.payload, "from": "PAUSING"})

    assert any("though it stood at RUNNING" in line for line in breached()[2])


def test_i3_the_first_unfinished_turn_is_the_active_one(world: World) -> None:
    """An active Turn with an unfinished one before it is named."""
    first, second = world.submitted("first"), world.submitted("second")
    began = second.created_at
    Turn.objects.filter(id=second.id).update(status="WAITING", reason="tool", started_at=began)

    assert any(second.id in line and first.id in line for line in breached()[3])


def test_i3_one_turn_a_thread_is_active(world: World) -> None:
    """The database refuses a second started Turn; the checker would name it."""
    world.running("first")
    second = Turn.objects.filter(id=world.submitted("second").id)
    began = second.get().created_at
    with refused():
        second.update(status="RUNNING", started_at=began)

    with unguarded(Turn, "turn_one_started"):
        second.update(status="RUNNING", started_at=began)
        assert 3 in breached()


def test_i3_what_is_active_has_begun(world: World) -> None:
    """A RUNNING Turn without a beginning would slip through the index and is named."""
    turn = world.submitted()
    Turn.objects.filter(id=turn.id).update(status="RUNNING")

    assert 3 in breached()


def test_i4_a_run_waits_for_all_earlier_turns(world: World) -> None:
    """A Run that began before any earlier Turn of its Thread ended is named."""
    first = world.finished("first")
    world.finished("second")
    third = world.finished("third")
    Turn.objects.filter(id=first.id).update(finished_at=third.created_at + timedelta(hours=1))

    assert any(third.id in line for line in breached()[4])


def test_i9_the_failures_stay_in_their_policy(world: World) -> None:
    """The database refuses more failures than the policy allows; the checker would name them."""
    turn = Turn.objects.filter(id=world.backing_off().id)
    with refused():
        turn.update(failures=5)

    with unguarded(Turn, "turn_failures_in_policy"):
        turn.update(failures=5)
        assert any("more than its policy" in line for line in breached()[9])


def test_i9_only_failed_runs_are_charged(world: World) -> None:
    """A failure that no failed Run stands for is named: a drain or a lost lease was charged."""
    turn = world.backing_off()
    Run.objects.filter(turn=turn).update(status="HANDED_OVER")

    assert any("0 of its Runs failed" in line for line in breached()[9])


def test_i9_the_failure_count_never_falls(world: World) -> None:
    """A recovery event that counts less than the one before is named."""
    turn = world.backing_off()
    recovery = newest(turn, EventType.TURN_RECOVERY)
    told(turn, EventType.TURN_RECOVERY, {**recovery.payload, "failures": 0})

    assert any("failure 0 follows on failure 1" in line for line in breached()[9])


def test_i9_no_run_begins_before_its_next_try(world: World) -> None:
    """A Run that did not wait for the end of the backoff is named."""
    turn = world.backing_off()
    with clock.offset(LATER):
        world.claimed()
    began = newest(turn, EventType.RUN_STARTED)
    retold(began, at=began.at - LATER)

    assert any("before the next try" in line for line in breached()[9])


def test_i9_a_wait_that_was_kept_is_clean(world: World) -> None:
    """The same Run after the backoff is no breach."""
    world.backing_off()
    with clock.offset(LATER):
        world.claimed()

    assert breached() == {}
    assert Event.objects.filter(type=EventType.RUN_STARTED).count() == 2
