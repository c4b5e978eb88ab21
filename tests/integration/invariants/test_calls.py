"""Breaches of I25 to I28, I30 and I32 to I34, planted in calls and in what the outside saw."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.ids import new_id
from sessions_app.contract.events import EventType
from sessions_app.models import AuditEntry, Checkpoint, ToolCall, Turn
from sessions_app.store.invariants import check
from sessions_app.store.observing import RECONCILED
from tests.integration.invariants.planting import breached, newest, retold, told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.invariants.world import World


def _call(turn: Turn) -> ToolCall:
    return ToolCall.objects.get(turn=turn)


def _change(turn: Turn, **columns: object) -> ToolCall:
    ToolCall.objects.filter(turn=turn).update(**columns)
    return _call(turn)


@pytest.mark.parametrize("late", [EventType.TOOL_REQUESTED, EventType.TOOL_STARTED])
def test_i25_what_comes_first_is_told_first(world: World, late: EventType) -> None:
    """Arguments after the start, or a start after the result, are named."""
    turn = world.finished()
    told(turn, late, newest(turn, late).payload)

    assert any(f"{late} follows on tool.applied" in line for line in breached()[25])


def test_i26_what_may_happen_once_starts_once(world: World) -> None:
    """A second start record of a `once` call is named."""
    call = _change(world.finished(), attempts=2)

    assert any(f"{call.id}: 2 start records for" in line for line in breached()[26])


def test_i26_every_start_is_counted(world: World) -> None:
    """A start record that the timeline does not tell of, or tells of twice, is named."""
    turn = world.finished()
    started = newest(turn, EventType.TOOL_STARTED)
    told(turn, EventType.TOOL_STARTED, started.payload)

    assert any("start 1 follows on start 1" in line for line in breached()[26])


def test_i26_an_execution_has_the_id_that_a_replay_gives_it(world: World) -> None:
    """A call under an id that does not follow from its Turn and place is named."""
    call = _change(world.finished(), call_id="another")

    assert any(f"{call.id}: is not the id" in line for line in breached()[26])


@pytest.mark.parametrize("on_record", [False, True])
def test_i28_a_doubt_ends_by_evidence_on_record(world: World, *, on_record: bool) -> None:
    """A result behind an UNKNOWN that neither an owner nor an operator stands for is named."""
    turn = world.finished()
    result = newest(turn, EventType.TOOL_RESULT)
    told(turn, EventType.TOOL_UNKNOWN, newest(turn, EventType.TOOL_APPLIED).payload)
    told(turn, EventType.TOOL_RESULT, result.payload)
    if on_record:
        call, at = _call(turn), result.at
        audit = {"id": "aud_1", "action": RECONCILED, "target": call.pk, "at": at}
        AuditEntry.objects.create(actor="ada", session_id=call.session_id, **audit)

    found = breached().get(28, [])

    assert [f"{_call(turn).id}: was UNKNOWN" in line for line in found] == [True] * (not on_record)


@pytest.mark.parametrize("form", ["{} tool 4711", '{{"tool": "write_report", "key": "{}"}}'])
def test_i27_one_effect_for_one_execution_is_clean(world: World, tmp_path: Path, form: str) -> None:
    """An oracle that saw each completed call once agrees, in either form of its file."""
    call = _call(world.finished())
    oracle = tmp_path / "effects"
    oracle.write_text(f"{form.format(call.id)}\n")

    assert breached(oracle=oracle) == {}


def test_i27_no_effect_happens_twice(world: World, tmp_path: Path) -> None:
    """A second effect of one execution is named."""
    call = _call(world.finished())
    oracle = tmp_path / "effects"
    oracle.write_text(f"{call.id} 1\n{call.id} 2\n")

    assert any("had 2 effects" in line for line in breached(oracle=oracle)[27])


def test_i27_a_repeat_that_is_allowed_is_clean(world: World, tmp_path: Path) -> None:
    """Each start record of an idempotent call may have reached the tool."""
    call = _change(world.finished(), effect="idempotent", attempts=2)
    oracle = tmp_path / "effects"
    oracle.write_text(f"{call.id} 1\n{call.id} 2\n")

    assert 27 not in breached(oracle=oracle)


def test_i27_a_completed_call_had_its_effect(world: World, tmp_path: Path) -> None:
    """A completed call of a tool that the oracle knows, without an effect, is named."""
    first, second = world.finished("first"), world.finished("second")
    oracle = tmp_path / "effects"
    oracle.write_text(f"{_call(first).id} 1\n")

    assert any(_call(second).id in line for line in breached(oracle=oracle)[27])


def test_i27_what_never_ran_has_no_effect(world: World, tmp_path: Path) -> None:
    """An effect of a call that was settled without a start is named."""
    call = _change(world.finished(), state="NOT_EXECUTED")
    oracle = tmp_path / "effects"
    oracle.write_text(f"{call.id} 1\n")

    assert any("without a start" in line for line in breached(oracle=oracle)[27])


def test_i27_every_effect_has_its_intent(world: World, tmp_path: Path) -> None:
    """An effect of an execution that the database never heard of is named."""
    world.finished()
    oracle = tmp_path / "effects"
    oracle.write_text(f"{new_id('exe_')} 1\n")

    assert any("not in the database" in line for line in breached(oracle=oracle)[27])


def test_i27_is_skipped_without_an_oracle(world: World) -> None:
    """A check without the oracle's file says that it did not look."""
    world.finished()

    skipped = [str(skip) for skip in check().skipped]

    assert "I27 not checked: no oracle file given" in skipped


def test_i30_the_first_result_stays(world: World) -> None:
    """A second result of an execution is named, and a row that took it."""
    turn = world.finished()
    result = newest(turn, EventType.TOOL_RESULT)
    told(turn, EventType.TOOL_RESULT, {**result.payload, "state": "FAILED"})
    _change(turn, state="FAILED")

    found = breached()[30]
    assert any("second result" in line for line in found)
    assert any("stored as FAILED" in line for line in found)


def test_i30_results_come_in_by_the_inbox(world: World) -> None:
    """The result of an external execution of which no update was taken in is named."""
    call = world.waiting_for_tool()
    ToolCall.objects.filter(id=call.id).update(
        state="COMPLETED",
        received_at=call.intended_at,
        dispatched_at=call.intended_at,
        deliver_at=None,
    )

    assert any("no update" in line for line in breached()[30])


def test_i32_a_result_is_applied_once(world: World) -> None:
    """A second application of a result is named."""
    turn = world.finished()
    told(turn, EventType.TOOL_APPLIED, newest(turn, EventType.TOOL_APPLIED).payload)

    assert any("a second time" in line for line in breached()[32])


def test_i32_a_result_is_applied_with_its_checkpoint(world: World) -> None:
    """An application without the checkpoint of the same commit is named."""
    call = _call(world.finished())
    assert call.applied_position is not None
    Checkpoint.objects.filter(position=call.applied_position).delete()

    assert any("no checkpoint of that moment" in line for line in breached()[32])


def test_i32_a_place_of_application_has_a_time(world: World) -> None:
    """A call that says where, but not when, it was applied is named."""
    _change(world.finished(), applied_at=None)

    assert any("no time of it" in line for line in breached()[32])


def test_i32_what_is_applied_was_received(world: World) -> None:
    """An application of a result that never came is named."""
    turn = world.finished()
    result = newest(turn, EventType.TOOL_RESULT)
    retold(result, type=EventType.TOOL_PROGRESS)

    assert any("ever received" in line for line in breached()[32])


def test_i33_no_reply_is_asked_for_over_an_open_call(world: World) -> None:
    """A model request without the result of an earlier call in its history is named."""
    _change(world.finished(), applied_at=None)

    assert any("before the result" in line for line in breached()[33])


def _prompts(folder: Path, *messages: dict[str, Any]) -> Path:
    log = folder / "prompts"
    body = {"model": "scripted", "messages": [{"role": "user", "content": "go"}, *messages]}
    lines = [{"request": 1, "state": "arrived", "body": body}, {"request": 1, "state": "answered"}]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return log


_ASKED = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
_A, _B = {"role": "tool", "tool_call_id": "a"}, {"role": "tool", "tool_call_id": "b"}


def test_i33_a_whole_prompt_is_clean(world: World, tmp_path: Path) -> None:
    """A prompt with one result for each call, in order, is no breach."""
    world.finished()

    assert breached(prompts=_prompts(tmp_path, _ASKED, _A, _B)) == {}


@pytest.mark.parametrize(
    "messages",
    [
        (_ASKED, _A),
        (_ASKED, _B, _A),
        (_ASKED, _A, _A, _B),
        (_A,),
        (_ASKED, _A, {"role": "user"}, _B),
    ],
    ids=["missing", "in another order", "twice", "orphan", "out of place"],
)
def test_i33_every_call_in_a_prompt_has_one_result_in_its_place(
    world: World, tmp_path: Path, messages: tuple[dict[str, Any], ...]
) -> None:
    """A prompt that a provider would refuse is named."""
    world.finished()

    assert 33 in breached(prompts=_prompts(tmp_path, *messages))


def test_i34_arguments_are_those_of_the_intent(world: World) -> None:
    """Arguments that changed after the intent was stored are named, by digest and by event."""
    _change(world.finished(), arguments={"service": "everything"})

    found = breached()[34]
    assert any("differ from the digest" in line for line in found)
    assert any("made public" in line for line in found)
