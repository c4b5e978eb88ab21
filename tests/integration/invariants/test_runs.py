"""Breaches of I5 to I8, planted in Runs, leases and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.ids import new_id
from sessions_app.contract.events import EventType
from sessions_app.models import (
    Checkpoint,
    Command,
    JournalEntry,
    ModelCall,
    Run,
    Thread,
    ToolCall,
    Turn,
)
from sessions_app.store import clock
from tests.integration.invariants.planting import breached, newest, refused, retold, unguarded

if TYPE_CHECKING:
    from tests.integration.invariants.world import World

LATER = timedelta(minutes=1)


def test_i5_one_run_is_open(world: World) -> None:
    """The database refuses a second open Run of a Turn; the checker would name it."""
    world.backing_off()
    with clock.offset(LATER):
        world.claimed()
    first = Run.objects.filter(ordinal=1)
    with refused():
        first.update(status="OPEN", ended_at=None)

    with unguarded(Run, "run_one_open"):
        first.update(status="OPEN", ended_at=None)
        assert any("2 Runs" in line for line in breached()[5])


def test_i5_a_run_begins_after_the_former_ended(world: World) -> None:
    """Two Runs of a Turn that overlap in time are named."""
    world.backing_off()
    with clock.offset(LATER):
        world.claimed()
    second = Run.objects.get(ordinal=2)
    Run.objects.filter(ordinal=1).update(ended_at=second.started_at + LATER)

    assert any("before Run" in line for line in breached()[5])


def test_i5_an_open_run_holds_the_lease(world: World) -> None:
    """An open Run whose Thread is leased under another token is named, and the lease too."""
    world.running()
    Thread.objects.filter(id=world.thread.id).update(lease_token="2.another")

    found = breached()[5]
    assert any("is open, but the lease" in line for line in found)
    assert any("no Run of it is open" in line for line in found)


def test_i5_a_turn_names_its_open_run(world: World) -> None:
    """A Turn that does not know the Run that is open for it is named."""
    claim = world.running()
    Turn.objects.filter(id=claim.turn_id).update(run_id=None)

    assert any("names Run none" in line for line in breached()[5])


def test_i6_no_token_comes_twice(world: World) -> None:
    """The database refuses a token that another Run had; the checker would name it."""
    world.backing_off()
    with clock.offset(LATER):
        claim = world.claimed()
    first = Run.objects.filter(ordinal=1)
    with refused():
        first.update(token=claim.token)

    with unguarded(Run, "run_token_once"):
        first.update(token=claim.token)
        assert any("2 Runs" in line for line in breached()[6])


def test_i6_the_counter_of_a_thread_never_falls(world: World) -> None:
    """A counter below the number of claims that were given is named."""
    world.finished()
    Thread.objects.filter(id=world.thread.id).update(lease_epoch=0)

    assert any("below the 1 claims" in line for line in breached()[6])


def test_i6_a_later_token_has_a_higher_counter(world: World) -> None:
    """A Run whose counter is not above that of the Run before is named."""
    world.backing_off()
    with clock.offset(LATER):
        world.claimed()
    Run.objects.filter(ordinal=2).update(token="1.another")

    assert any("counter 1 after 1" in line for line in breached()[6])


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        (JournalEntry.objects, "token"),
        (Checkpoint.objects, "token"),
        (ToolCall.objects, "start_token"),
    ],
)
def test_i7_a_stale_token_never_writes(world: World, rows: Any, column: str) -> None:
    """A journal entry, checkpoint or start record under a token that no Run had is named."""
    world.finished()
    rows.update(**{column: "1.stale"})

    assert 7 in breached()


def test_i7_a_token_writes_while_its_run_lasts(world: World) -> None:
    """What was written under a real token, but after its Run had ended, is named."""
    ended = Run.objects.get(turn=world.backing_off())
    with clock.offset(LATER):
        world.asks_tool(world.claimed())
    JournalEntry.objects.update(token=ended.token)

    assert any("journal entry" in line for line in breached()[7])


def test_i7_model_calls_belong_into_their_run(world: World) -> None:
    """A model call that was written outside of its Run's time is named."""
    turn = world.finished()
    ModelCall.objects.filter(turn=turn).update(at=turn.created_at - LATER)

    assert any("model call" in line for line in breached()[7])


def test_i7_events_of_a_run_belong_into_it(world: World) -> None:
    """An event that speaks for a Run which had ended is named."""
    turn = world.finished()
    ended = newest(turn, EventType.RUN_ENDED)
    retold(ended, at=ended.at + LATER)

    assert any("speaks for Run" in line for line in breached()[7])


def test_i8_a_run_that_ended_its_turn_has_ended_it(world: World) -> None:
    """A Run that was told that it ended its Turn, while the Turn goes on, is named."""
    claim = world.running()
    run = Run.objects.filter(id=claim.run_id)
    run.update(status="COMPLETED", ended_at=run.get().started_at)

    assert any("which is RUNNING" in line for line in breached()[8])


def test_i8_an_acknowledged_cancel_is_there(world: World) -> None:
    """A receipt for a cancel of which the Turn knows nothing is named."""
    turn = world.submitted()
    Command.objects.create(
        id=new_id("cmd_"),
        session=world.session,
        request_id="cancel-1",
        operation="cancel",
        digest="sha256:0",
        turn=turn,
        receipt={
            "request_id": "cancel-1",
            "operation": "cancel",
            "turn_id": turn.id,
            "sequence": 1,
        },
        at=turn.created_at,
    )

    assert any("cancel-1" in line for line in breached()[8])
