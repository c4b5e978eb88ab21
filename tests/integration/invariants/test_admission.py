"""Breaches of I14 to I17, planted in receipts, admissions and digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection

from hands_app.contract.ids import new_id
from hands_app.contract.strict_json import digest
from sessions_app.contract.events import EventType
from sessions_app.models import (
    Checkpoint,
    Command,
    Event,
    JournalEntry,
    Message,
    Session,
    Thread,
    Turn,
)
from tests.integration.invariants.planting import breached, newest, refused, retold, unguarded

if TYPE_CHECKING:
    from tests.integration.invariants.world import World


def _receipt(turn: Turn) -> Command:
    return Command.objects.get(turn=turn)


def test_i14_a_request_has_one_receipt(world: World) -> None:
    """The database refuses a second receipt for a request id; the checker would name it."""
    receipt = _receipt(world.submitted())
    receipt.pk = new_id("cmd_")
    with refused():
        receipt.save(force_insert=True)

    with unguarded(Command, "command_request"):
        receipt.save(force_insert=True)
        assert any("2 receipts" in line for line in breached()[14])


def test_i14_a_receipt_has_the_digest_of_what_was_admitted(world: World) -> None:
    """A receipt whose content is not that of its Turn is named."""
    turn = world.submitted()
    Command.objects.filter(turn=turn).update(digest=digest("something else"))

    assert any("its digest" in line for line in breached()[14])


def test_i14_a_receipt_names_its_own_turn(world: World) -> None:
    """A receipt that gives back another Turn than it was stored for is named."""
    turn, other = world.submitted("first"), world.submitted("second")
    receipt = _receipt(turn)
    receipt.receipt = {**receipt.receipt, "turn_id": other.id}
    receipt.save()

    assert any(f"names {other.id}" in line for line in breached()[14])


def test_i14_a_turn_has_the_request_of_its_receipt(world: World) -> None:
    """A Turn that claims to come from another request than its receipt is named."""
    turn = world.submitted()
    Turn.objects.filter(id=turn.id).update(request_id="another")

    assert any("by request another" in line for line in breached()[14])


def test_i15_an_acknowledged_event_is_there(world: World) -> None:
    """A receipt for an event beyond the end of the timeline is named."""
    turn = world.submitted()
    receipt = _receipt(turn)
    receipt.receipt = {**receipt.receipt, "sequence": 99}
    receipt.save()

    assert any("the newest is" in line for line in breached()[15])


def test_i15_the_acknowledged_event_admits_the_turn(world: World) -> None:
    """A receipt whose event is another one than the admission is named."""
    admitted = newest(world.submitted(), EventType.TURN_ADMITTED)
    retold(admitted, type=EventType.TURN_RECOVERY)

    assert any("does not admit" in line for line in breached()[15])


def test_i16_an_admission_has_its_receipt(world: World) -> None:
    """A Turn that nobody asked for is named."""
    turn = world.submitted()
    Command.objects.filter(turn=turn).delete()

    assert any("no receipt" in line for line in breached()[16])


def test_i16_an_admission_has_its_message(world: World) -> None:
    """A Turn without the user's message is named."""
    turn = world.submitted()
    Message.objects.filter(turn=turn).delete()

    assert any("user message" in line for line in breached()[16])


def test_i16_a_session_has_its_thread(world: World) -> None:
    """A Session whose main Thread never came into being is named."""
    Thread.objects.filter(session=world.session).delete()

    assert any("no Thread" in line for line in breached()[16])


def test_i16_a_journal_is_whole(world: World) -> None:
    """A Thread whose newest journal entry is missing is named."""
    world.finished()
    JournalEntry.objects.order_by("-position")[0].delete()

    assert any("its journal" in line for line in breached()[16])


def test_i16_a_checkpoint_is_not_lost(world: World) -> None:
    """A Thread whose newest checkpoint is missing is named."""
    world.finished()
    Checkpoint.objects.order_by("-ordinal")[0].delete()

    assert any("its checkpoint" in line for line in breached()[16])


def test_i16_every_admission_is_counted(world: World) -> None:
    """A Session that counts fewer admissions than it has is named."""
    world.submitted()
    Session.objects.filter(id=world.session.id).update(last_ordinal=0)

    assert any("counts 0" in line for line in breached()[16])


def test_i17_content_has_its_digest(world: World) -> None:
    """Input and native state that changed beside their digest are named."""
    turn = world.finished()
    Turn.objects.filter(id=turn.id).update(input_digest=digest("something else"))
    Checkpoint.objects.filter(ordinal=1).update(body={"stage": "changed"})

    assert len(breached()[17]) == 2


def test_i17_equal_values_have_equal_text(world: World) -> None:
    """The same value in another spelling would have another digest elsewhere, and is named."""
    turn = world.submitted()
    spelled = '{"version": "1", "parts": [{"type": "text", "text": "input of request-1"}]}'
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_turn SET input = %s WHERE id = %s", [spelled, turn.id])

    assert any(turn.id in line for line in breached()[17])


def test_a_pruned_timeline_proves_nothing(world: World) -> None:
    """Where the first events were pruned, their rows alone are no breach."""
    world.finished()
    gone = Event.objects.filter(sequence__lte=5)
    gone.delete()
    Session.objects.filter(id=world.session.id).update(pruned_through=5)

    assert breached() == {}
