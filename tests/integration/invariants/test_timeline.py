"""Breaches of I18, I20, I21 and I23, planted in events and in the rows that they speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.contract.ids import new_id
from sessions_app.contract.events import EventType
from sessions_app.models import Event, Interaction, Message, Session, Signal, ToolCall, Turn
from sessions_app.store.invariants.pairs import PAIRS
from tests.integration.invariants.planting import breached, newest, refused, retold, told

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.store.invariants.pairs import Pair
    from tests.integration.invariants.world import World


def test_i18_a_timeline_has_no_gap(world: World) -> None:
    """An event that is missing in the middle of a timeline is named."""
    world.finished()
    Event.objects.filter(sequence=4).delete()

    assert any(world.session.id in line for line in breached()[18])


def test_i18_a_timeline_begins_at_its_floor(world: World) -> None:
    """A first event that is missing without having been pruned is named."""
    world.submitted()
    Event.objects.filter(sequence=1).delete()

    assert 18 in breached()


def test_i18_no_sequence_is_given_out_for_nothing(world: World) -> None:
    """A counter that is ahead of the newest event is named."""
    world.submitted()
    session = world.session
    Session.objects.filter(id=session.id).update(last_sequence=session.last_sequence + 1)

    assert 18 in breached()


def test_i18_no_sequence_is_given_out_twice(world: World) -> None:
    """The database refuses a sequence that exists, so that the checker need not look for it."""
    world.submitted()
    event = Event.objects.get(sequence=1)
    event.pk = None

    with refused():
        event.save(force_insert=True)


def test_i19_a_stored_event_never_changes(world: World) -> None:
    """The database refuses to change an event where it stands, whatever asks for it."""
    world.submitted()

    with refused():
        Event.objects.filter(sequence=1).update(type="changed")


def test_i20_events_add_up_to_the_stored_status(world: World) -> None:
    """A status that its events do not lead to is named."""
    turn = world.submitted()
    Turn.objects.filter(id=turn.id).update(status="PAUSED")

    assert any("end at QUEUED" in line for line in breached()[20])


def test_i20_events_add_up_to_the_stored_text(world: World) -> None:
    """A message that differs from what its event completed is named."""
    turn = world.finished()
    said = Message.objects.filter(turn=turn, role="assistant")
    said.update(parts=[{"type": "text", "text": "All is lost."}])

    assert any(said.get().id in line for line in breached()[20])


def test_i21_no_status_without_its_event(world: World) -> None:
    """A change of status that no event tells of is named."""
    turn = world.submitted()
    Turn.objects.filter(id=turn.id).update(status="PAUSED", revision=2)

    assert any("its row is at revision 2" in line for line in breached()[21])


def test_i21_no_event_without_its_status(world: World) -> None:
    """An event of a change that the row did not make is named."""
    turn = world.submitted()
    told(turn, EventType.TURN_STATUS, {"from": "QUEUED", "to": "PAUSED", "revision": 2})

    assert any("its newest event at 2" in line for line in breached()[21])


@pytest.mark.parametrize("type_", [EventType.TURN_ADMITTED, EventType.TURN_STATUS])
def test_i21_no_turn_without_its_events(world: World, type_: EventType) -> None:
    """A Turn whose admission or moves are not in the timeline is named."""
    turn = world.finished()
    Event.objects.filter(turn_id=turn.id, type__in=[EventType.TURN_ADMITTED, type_]).delete()

    assert any(turn.id in line for line in breached()[21])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: str(pair.event))
def test_i21_no_event_without_its_row(world: World, pair: Pair) -> None:
    """An event of what is not stored so is named; an UNKNOWN call alone may have ended since."""
    turn = world.submitted()
    payload: dict[str, JsonValue] = {pair.named: "nothing_such"} if pair.named else {}
    event = told(turn, pair.event, payload, run="run_none")
    retold(event, turn_id="turn_none", thread_id="none")
    created = (
        pair.event is EventType.SESSION_CREATED
    )  # its row is there: a second one changes nothing

    assert (21 in breached()) is (pair.for_good and not created)


@pytest.mark.parametrize(
    "type_",
    [
        EventType.SESSION_CREATED,
        EventType.THREAD_CREATED,
        EventType.TURN_RECOVERY,
        EventType.RUN_STARTED,
        EventType.RUN_ENDED,
        EventType.STEP_STARTED,
        EventType.STEP_ENDED,
        EventType.MESSAGE_COMPLETED,
        EventType.TOOL_REQUESTED,
        EventType.TOOL_STARTED,
        EventType.TOOL_RESULT,
        EventType.TOOL_APPLIED,
    ],
)
def test_i21_no_row_without_its_event(world: World, type_: EventType) -> None:
    """A fact that the timeline does not tell of is named."""
    world.finished("first")
    world.backing_off("second")
    Event.objects.filter(type=type_).delete()

    assert any(f"without its event {type_}" in line for line in breached()[21])


def test_i21_no_closing_without_its_event(world: World) -> None:
    """A Session and a Thread that closed silently are named."""
    thread, session = world.thread, world.session
    Session.objects.filter(id=session.id).update(status="CLOSED", closed_at=session.created_at)
    type(thread).objects.filter(id=thread.id).update(status="CLOSED", closed_at=session.created_at)

    found = breached()[21]
    assert any("session.closed" in line for line in found)
    assert any("thread.closed" in line for line in found)


def test_i21_no_unknown_without_its_event(world: World) -> None:
    """A call that became UNKNOWN silently is named."""
    call = world.waiting_for_tool()
    type(call).objects.filter(id=call.id).update(state="UNKNOWN")

    assert any("tool.unknown" in line for line in breached()[21])


@pytest.mark.parametrize("status", ["PENDING", "APPLIED", "CLOSED"])
def test_i21_no_signal_without_its_event(world: World, status: str) -> None:
    """An input that was admitted, applied or closed silently is named."""
    turn = world.submitted()
    Signal.objects.create(
        id=new_id("sig_"),
        session=world.session,
        turn=turn,
        ordinal=2,
        kind="STEER",
        request_id="steer-1",
        content={"parts": []},
        status=status,
        applied_position=1,
        at=turn.created_at,
    )
    told_of = {"PENDING": "admitted", "APPLIED": "applied", "CLOSED": "closed"}[status]

    assert any(f"signal.{told_of}" in line for line in breached()[21])


@pytest.mark.parametrize(("status", "told_of"), [("OPEN", "opened"), ("EXPIRED", "resolved")])
def test_i21_no_wait_without_its_event(world: World, status: str, told_of: str) -> None:
    """A question to a person that was asked or resolved silently is named."""
    turn = world.finished()
    Interaction.objects.create(
        id=new_id("int_"),
        session=world.session,
        turn=turn,
        call=ToolCall.objects.get(turn=turn),
        kind="APPROVAL",
        status=status,
        arguments_digest="sha256:0",
        opened_at=turn.created_at,
    )

    assert any(f"interaction.{told_of}" in line for line in breached()[21])


def test_i23_a_message_is_completed_upwards(world: World) -> None:
    """A second completion that is no later attempt and no higher revision is named."""
    completed = newest(world.finished(), EventType.MESSAGE_COMPLETED)
    turn = Turn.objects.get(id=completed.turn_id)
    told(turn, EventType.MESSAGE_COMPLETED, completed.payload)

    assert any("after attempt 1, revision 1" in line for line in breached()[23])


def test_i23_the_newest_version_is_the_stored_one(world: World) -> None:
    """A row at another revision than the last completion is named."""
    turn = world.finished()
    Message.objects.filter(turn=turn, role="assistant").update(revision=2)

    assert any("stored as attempt 1, revision 2" in line for line in breached()[23])


def test_i23_a_message_has_one_row(world: World) -> None:
    """The database refuses a second message for one outcome, so that none has two texts."""
    said = Message.objects.get(turn=world.finished(), role="assistant")
    said.pk = new_id("msg_")

    with refused():
        said.save(force_insert=True)
