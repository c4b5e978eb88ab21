"""Breaches of I37, planted in model calls and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.models import ModelCall, Turn
from tests.integration.invariants.planting import breached, refused, unguarded

if TYPE_CHECKING:
    from tests.integration.invariants.world import World


@pytest.mark.parametrize("column", ["requests", "input_tokens", "output_tokens"])
def test_i37_usage_is_the_sum_of_its_model_calls(world: World, column: str) -> None:
    """A sum that a replay added to is named."""
    turn = world.finished()
    doubled = 2 * getattr(turn, column)
    Turn.objects.filter(id=turn.id).update(**{column: doubled})

    assert any("sum up to" in line for line in breached()[37])


def test_i37_unknown_counts_make_the_accounting_incomplete(world: World) -> None:
    """A Turn whose accounting is called complete over an unknown count is named."""
    turn = world.finished()
    calls = ModelCall.objects.filter(turn=turn, ordinal=1)
    calls.update(input_tokens=None)
    Turn.objects.filter(id=turn.id).update(input_tokens=7)

    assert any("called complete" in line for line in breached()[37])


def test_i37_a_lost_request_has_no_counts(world: World) -> None:
    """The database refuses counts of a request whose answer got lost; the checker would name it."""
    call = ModelCall.objects.filter(turn=world.finished(), ordinal=1)
    with refused():
        call.update(status="LOST")

    with unguarded(ModelCall, "model_call_lost_is_unknown"):
        call.update(status="LOST")
        assert any("nobody can know" in line for line in breached()[37])
