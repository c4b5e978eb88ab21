"""Any order and repetition of what a ledger tells ends in the same rows (I30)."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from hands_app.contract.messages import Query, parse_control
from sessions_app.models import Event, ToolCall
from tests.integration.tooling.house import House, fresh, thread_of, turn_of
from tests.unit.tooling.updates import Story, journeys, updates

_OWN = frozenset(
    {
        "id",
        "session_id",
        "thread_id",
        "turn_id",
        "origin_run",
        "origin_step",
        "request_digest",
        "_state",
    }
)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(journeys())
def test_any_journey_ends_as_the_straight_one(
    house: House, journey: tuple[Story, list[int]]
) -> None:
    """Lost, doubled and overtaken updates cost questions, never a different end."""
    story, arrivals = journey
    straight, crooked = house.ask(), house.ask()
    told = updates(crooked, story)

    for update in updates(straight, story):
        house.bring(update)
    for place in arrivals:
        house.bring(told[place])
    _answer_everything(house, crooked, told)

    assert _facts(crooked) == _facts(straight)


def _answer_everything(house: House, call: ToolCall, told: list[Any]) -> None:
    """Answer as the ledger does, every question and in the end the regular one."""
    for letter in house.post.take():
        question = parse_control(letter.text)
        assert isinstance(question, Query)
        for update in told[question.after :]:
            house.bring(update)
    for update in told[fresh(call).inbox_position :]:
        house.bring(update)


def _facts(call: ToolCall) -> tuple[dict[str, Any], list[Any], tuple[Any, ...]]:
    """What is stored of a call, its timeline and its Turn; of times only whether they are there."""
    columns = {
        name: value is not None if name.endswith("_at") else value
        for name, value in vars(fresh(call)).items()
        if name not in _OWN
    }
    timeline = [
        (event.type, {**event.payload, "executionId": "", "turnId": ""})
        for event in Event.objects.filter(session=call.session_id).order_by("sequence")
        if event.type.startswith(("tool.", "turn.status"))
    ]
    turn = turn_of(call)
    return columns, timeline, (turn.status, turn.reason, thread_of(call).wake_at is not None)
