"""What an update changes is decided over rows in memory: no database, no clock (I30, law 7)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given

from hands_app.contract.binding import ToolBinding
from hands_app.contract.ids import execution_id, new_id
from hands_app.contract.messages import ExecutionState, Origin, UpdateKind
from hands_app.contract.messages import request_digest as digest_of_the_contract
from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.machine import intake, tools
from sessions_app.machine.intake import Received
from tests.covers import covers, poses
from tests.unit.machine import scene
from tests.unit.tooling.updates import (
    ADMITTED,
    STARTED,
    UNKNOWN,
    Story,
    journeys,
    stories,
    updates,
)

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from sessions_app.machine.change import Change

DIGEST = f"sha256:{'a' * 64}"


def _rows(state: CallState = CallState.INTENDED, **columns: Any) -> Received:
    """A call of a parked Turn, sent a moment ago."""
    thread = scene.thread()
    turn = scene.turn(status=TurnStatus.WAITING, reason=WaitReason.TOOL, thread=thread)
    sent = {
        "id": execution_id("turn_1", "1/c", 0),
        "route": "hands",
        "request_digest": DIGEST,
        "deliver_at": scene.at(5),
        "dispatched_at": scene.NOW,
        "deliveries": 1,
    }
    call = scene.call(state, **{**sent, **columns})
    return Received(thread, turn, call, [call])


def _taken(rows: Received, *told: Update, change: Change | None = None) -> list[str]:
    made = change or scene.change()
    return [intake.take(made, rows, update) for update in told]


def _facts(rows: Received, change: Change) -> tuple[dict[str, Any], list[Any]]:
    """All that a sequence of updates left behind."""
    row = {name: value for name, value in vars(rows.call).items() if name != "_state"}
    turn = {"status": rows.turn.status, "reason": rows.turn.reason, "revision": rows.turn.revision}
    told = [(draft.type, draft.payload) for _, draft in change.events]
    return {**row, **turn, "touched": sorted(change.touched)}, told


@given(journeys())
@example((ADMITTED + STARTED + UNKNOWN, [2, 1, 0, 2, 2, 1]))
def test_any_order_and_repetition_ends_as_the_order_of_the_ledger(
    journey: tuple[Story, list[int]],
) -> None:
    """Whatever arrives and however often, once the gaps are filled the rows are the same (I30)."""
    story, arrivals = journey
    straight, crooked = _rows(), _rows()
    told = updates(straight.call, story)
    by_order, by_chance = scene.change(), scene.change()

    _taken(straight, *told, change=by_order)
    _taken(crooked, *(told[place] for place in arrivals), change=by_chance)
    _taken(crooked, *told, change=by_chance)

    assert _facts(crooked, by_chance) == _facts(straight, by_order)


@given(stories())
def test_only_the_next_update_is_applied(story: Story) -> None:
    """The prefix grows by one or not at all; what ended stays as it ended."""
    rows = _rows()
    for update in updates(rows.call, story):
        before = rows.call.inbox_position

        (outcome,) = _taken(rows, update)

        assert outcome in {"applied", "late"}
        assert rows.call.inbox_position == before + 1 == update.sequence


@pytest.mark.parametrize(
    "state",
    [
        CallState.COMPLETED,
        CallState.FAILED,
        CallState.CANCELLED,
        CallState.NOT_EXECUTED,
    ],
)
def test_the_first_terminal_state_stays(state: CallState) -> None:
    """A later observation moves the prefix and nothing else (I30)."""
    rows, change = _rows(state=state, deliver_at=None, inbox_position=1), scene.change()
    late = updates(rows.call, [*ADMITTED, (UpdateKind.RESULT, {"state": "COMPLETED"})])[1]

    outcomes = _taken(rows, late, change=change)

    assert outcomes == ["late"]
    assert (rows.call.state, rows.call.inbox_position) == (state, 2)
    assert change.events == []


@pytest.mark.parametrize(
    "status",
    [TurnStatus.RUNNING, TurnStatus.PAUSED, TurnStatus.PAUSING, TurnStatus.CANCELLING],
)
def test_only_a_waiting_turn_changes_what_it_waits_for(status: TurnStatus) -> None:
    """An owned, paused or cancelling Turn is left to whoever acts on it."""
    rows = _rows()
    rows.turn.status, rows.turn.reason = status, None

    _taken(rows, *updates(rows.call, ADMITTED + STARTED + UNKNOWN))

    assert (rows.turn.status, rows.turn.reason) == (status, None)


@pytest.mark.parametrize("reason", [WaitReason.BACKOFF, WaitReason.SUSPECT])
def test_a_turn_that_waits_for_something_else_goes_on_waiting_for_it(reason: WaitReason) -> None:
    """A doubt shows at the next claim; backoff and holds keep their place."""
    rows = _rows()
    rows.turn.reason = reason

    _taken(rows, *updates(rows.call, ADMITTED + STARTED + UNKNOWN))

    assert rows.turn.reason == reason


@covers("R182")
@poses("S20")
@pytest.mark.parametrize(
    ("age", "state", "seconds"),
    [
        (0, CallState.INTENDED, 5),
        (60, CallState.STARTED, 5),
        (240, CallState.STARTED, 20),
        (3600, CallState.STARTED, 60),
        (60, CallState.UNKNOWN, 5),
        (1200, CallState.UNKNOWN, 100),
        (86_400, CallState.UNKNOWN, 300),
    ],
)
def test_questions_keep_their_distance(age: int, state: CallState, seconds: int) -> None:
    """Five seconds in the first minute, then a twelfth of the age, up to a bound (R182, S20)."""
    call = _rows(state=state).call

    look = intake.next_look(call, scene.at(age))

    assert look == scene.at(age) + timedelta(seconds=seconds)


@covers("R182")
def test_how_soon_is_asked_again_can_be_set() -> None:
    """R182: the first distance is the deployment's, also where it is longer than our bound."""
    call = _rows(state=CallState.STARTED).call

    for again in (timedelta(seconds=0.5), timedelta(minutes=3)):
        assert intake.next_look(call, scene.at(1), again) == scene.at(1) + again


def test_the_digest_is_the_one_of_the_contract() -> None:
    """Both houses compute the same digest from the same facts (I34)."""
    binding = ToolBinding(name="send", parameters={"type": "object"}, route="hands")
    turn, run, step = new_id("turn_"), new_id("run_"), new_id("step_")
    session = scene.session()
    session.id = new_id("ses_")
    call = scene.call(
        turn_id=turn,
        session_id=session.id,
        session=session,
        thread=scene.thread(),
        origin_run=run,
        origin_step=step,
        arguments={"text": "hello", "n": 1.0},
        binding=binding.to_json(),
    )
    origin = Origin(
        namespace="acme",
        session_id="chat",
        thread_id="main",
        turn_id=turn,
        run_id=run,
        step_id=step,
        scope=call.session_id,
    )

    digest = tools.request_digest(call)

    assert digest == digest_of_the_contract(call.id, binding, {"text": "hello", "n": 1}, origin)
    assert tools.origin(call) == origin.to_json()


def test_a_doubt_of_an_owner_is_no_result() -> None:
    """A local call that its owner cannot vouch for is told of as unknown, not as ended (law 7)."""
    rows, change = scene.invocation(), scene.change()
    call = scene.call(CallState.STARTED, start_token="1.a", started_at=scene.NOW)
    rows.calls.append(call)
    draft = ResultDraft(execution_id=call.id, state=CallState.UNKNOWN)

    tools.results(change, rows, [draft])

    assert [draft.type for _, draft in change.events] == ["tool.unknown"]
    assert (call.state, call.error_code, call.received_at) == ("UNKNOWN", "UNCERTAIN", None)
    assert ExecutionState.UNKNOWN.value == call.state
