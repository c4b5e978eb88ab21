"""The same recovery over the real store: what adapters rely on in memory holds in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.models import JournalEntry, ModelCall, ToolCall
from sessions_app.store.invariants import check
from tests.contracts.harness.house import COMMITS, House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from sessions_app.models import Turn
    from tests.stores import Store

DEATHS = [
    pytest.param(kernel, side, number, id=f"{kernel.id}-{side}-{number}")
    for kernel in KERNELS[:2]
    for side in ("before", "after")
    for number in range(COMMITS[kernel.harness])
]


@pytest.mark.parametrize(("dying", "side", "number"), DEATHS)
async def test_a_death_at_any_commit_leaves_a_whole_database(
    store: Store, threads: Database, dying: Kernel, side: str, number: int
) -> None:
    """One outcome for each ordinal, one result for each call, and no invariant is broken."""
    house = House(store, dying, Mortal(side, number), threads)

    turn = await house.complete()

    assert turn.result == {"parts": [{"type": "text", "text": "All done."}]}
    assert house.deaths == 1
    assert await threads(_outcomes, turn) == [1, 2, 3]
    assert await threads(_applied, turn) == ["COMPLETED", "FAILED", "COMPLETED"]
    assert await threads(_unanswered, turn) <= 1
    report = await threads(lambda: check(quiet=True))
    assert report.is_clean, "\n".join(map(str, report.breaches))


def _outcomes(turn: Turn) -> list[int | None]:
    found = JournalEntry.objects.filter(turn=turn, kind="OUTCOME").order_by("ordinal")
    return [entry.ordinal for entry in found]


def _applied(turn: Turn) -> list[str]:
    found = ToolCall.objects.filter(turn=turn, applied_at__isnull=False)
    return [call.state for call in found.order_by("round", "ordinal")]


def _unanswered(turn: Turn) -> int:
    return ModelCall.objects.filter(turn=turn).exclude(status="COMPLETED").count()
