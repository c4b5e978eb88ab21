"""What is recorded of model requests: details are parts of their totals, or stay unknown."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.contract.backend import Commit, ModelCallFacts
from sessions_app.contract.events import EventType
from sessions_app.machine import settling
from sessions_app.models import ModelCall
from tests.covers import covers
from tests.unit.machine.scene import change, invocation


def recorded(**counts: Any) -> tuple[ModelCall, settling.Invocation, list[str]]:
    """The row of one request, the rows that it was recorded in, and the events of it."""
    made, rows = change(), invocation()
    seen = ModelCallFacts(ordinal=1, request_digest="sha256:1", model="m", **counts)
    settling.commit(made, rows, Commit(change_id="c", model_calls=(seen,)))
    (call,) = [row for row in made.rows if isinstance(row, ModelCall)]
    return call, rows, [draft.type for _, draft in made.events]


@covers("R066")
@pytest.mark.parametrize(
    ("counts", "cached", "reasoning"),
    [
        ({"input_tokens": 9, "cached_tokens": 4, "output_tokens": 5, "reasoning_tokens": 5}, 4, 5),
        ({"input_tokens": 9, "cached_tokens": 10}, None, None),
        ({"cached_tokens": 1, "reasoning_tokens": 1}, None, None),
        ({"output_tokens": 5, "reasoning_tokens": 6}, None, None),
    ],
)
def test_a_detail_that_is_no_part_of_its_total_stays_unknown(
    counts: dict[str, int], cached: int | None, reasoning: int | None
) -> None:
    """A provider that counts otherwise is not believed in detail; its totals stand."""
    call, _, _ = recorded(**counts)

    assert (call.cached_tokens, call.reasoning_tokens) == (cached, reasoning)
    assert call.input_tokens == counts.get("input_tokens")
    assert call.output_tokens == counts.get("output_tokens")


@covers("R066", "R068")
def test_a_lost_request_is_told_and_adds_no_count() -> None:
    """It leaves the account incomplete; nothing is invented for it."""
    call, rows, events = recorded(status="LOST", requests=None)

    assert (call.status, call.requests, call.input_tokens) == ("LOST", None, None)
    assert (rows.turn.requests, rows.turn.input_tokens, rows.turn.rounds) == (0, None, 0)
    assert not rows.turn.usage_complete
    assert EventType.MODEL_CALL_LOST in events
