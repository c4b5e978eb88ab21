"""Breaches of I11 to I14, planted in what happens after a pause, a cancel, a steer or a resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.strict_json import digest
from sessions_app.contract.content import user_input
from sessions_app.contract.events import EventType
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.models import Command, Signal, Turn
from sessions_app.store import admission, controls
from sessions_app.store.invariants import check
from tests.integration.invariants.planting import breached, newest, retold, told

if TYPE_CHECKING:
    from tests.integration.invariants.world import World


def _resumed(world: World) -> Turn:
    """Give a Turn that was paused and resumed in its backoff."""
    turn = world.backing_off()
    key = world.key.thread()
    controls.pause(key, turn.pk, "p1")
    controls.resume(key, turn.pk, "go", Turn.objects.get(pk=turn.pk).revision)
    return turn


def test_controls_of_every_kind_are_clean(world: World) -> None:
    """Pause, resume, steer, inject, withdraw, replace and cancel leave no breach."""
    key, turn = world.key.thread(), _resumed(world)
    controls.steer(key, turn.pk, "s1", user_input("in French"))
    controls.inject(key, turn.pk, "i1", user_input("a table"))
    controls.withdraw(key, turn.pk, "w1", "s1")
    admission.submit(key, "r2", user_input("in short"), {}, SubmitPolicy.STEER)
    admission.submit(key, "r3", user_input("anew"), {}, SubmitPolicy.REPLACE)

    assert Turn.objects.get(pk=turn.pk).status == "CANCELLED"
    assert check(quiet=True).is_clean, breached(quiet=True)


def test_i11_nothing_begins_while_paused(world: World) -> None:
    """A Run that begins between a pause and its resume is named."""
    turn = world.backing_off()
    controls.pause(world.key.thread(), turn.pk, "p1")
    told(turn, EventType.RUN_STARTED, {"runId": "run_x", "ordinal": 2}, "run_x")

    assert any("run.started while PAUSED" in line for line in breached()[11])


def test_i12_a_resume_named_the_revision_that_it_ended(world: World) -> None:
    """A resume whose request was about another revision is named."""
    _resumed(world)
    Command.objects.filter(operation="resume").update(digest=digest("another revision"))

    assert any("resumed by go" in line for line in breached()[12])


def test_i13_a_cancelled_turn_asks_for_no_tool(world: World) -> None:
    """An intent behind the recorded cancel is named."""
    claim = world.running()
    controls.cancel(world.key.thread(), claim.turn_id, "c1")
    told(Turn.objects.get(pk=claim.turn_id), EventType.TOOL_REQUESTED, {"executionId": "exe_x"})

    assert any("asks for a tool after a cancel" in line for line in breached()[13])


def test_i13_a_cancelled_turn_is_never_completed(world: World) -> None:
    """A completion behind the recorded cancel is named."""
    claim = world.running()
    controls.cancel(world.key.thread(), claim.turn_id, "c1")
    turn = Turn.objects.get(pk=claim.turn_id)
    told(turn, EventType.TURN_STATUS, {"from": "CANCELLING", "to": "COMPLETED", "revision": 4})

    assert any("COMPLETED after a cancel" in line for line in breached()[13])


def test_i14_an_input_has_the_digest_of_its_receipt(world: World) -> None:
    """A steer whose words are not those that were asked for is named, by control or by policy."""
    claim = world.running()
    key = world.key.thread()
    controls.steer(key, claim.turn_id, "s1", user_input("in French"))
    admission.submit(key, "s2", user_input("in short"), {}, SubmitPolicy.STEER)
    Signal.objects.update(content=user_input("something else").wire())

    assert len([line for line in breached()[14] if "its content's" in line]) == 2


def test_i14_an_input_has_a_receipt(world: World) -> None:
    """A steer that nobody was given a receipt for is named."""
    claim = world.running()
    controls.steer(world.key.thread(), claim.turn_id, "s1", user_input("in French"))
    Command.objects.filter(operation="steer").delete()

    assert any("no receipt of request s1" in line for line in breached()[14])


def test_i21_a_withdrawn_input_has_its_event(world: World) -> None:
    """A withdrawal that the timeline does not tell of is named."""
    claim = world.running()
    key = world.key.thread()
    controls.steer(key, claim.turn_id, "s1", user_input("in French"))
    controls.withdraw(key, claim.turn_id, "w1", "s1")
    event = newest(Turn.objects.get(pk=claim.turn_id), EventType.SIGNAL_WITHDRAWN)
    retold(event, payload={**event.payload, "signalId": "sig_another"})

    assert any("signal.withdrawn" in line for line in breached()[21])
