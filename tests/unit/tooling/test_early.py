"""Updates that came too early are kept for a moment, within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.ids import new_id
from sessions_app.tooling.early import LARGEST, MOST, Early
from tests.unit.machine import scene
from tests.unit.tooling.updates import ADMITTED, STARTED, UNKNOWN, updates

if TYPE_CHECKING:
    from hands_app.contract.messages import Update


def _updates(execution: str | None = None) -> list[Update]:
    call = scene.call(
        id=execution or new_id("exe_"), route="hands", request_digest=f"sha256:{'a' * 64}"
    )
    return updates(call, ADMITTED + STARTED + UNKNOWN)


def test_what_is_next_is_given_once() -> None:
    """The follower of a position is handed out and forgotten."""
    early, (_, second, third) = Early(), _updates()
    early.keep(second, 1)
    early.keep(third, 1)

    given = [early.next(second.execution_id, position) for position in (1, 2, 3, 1)]

    assert given == [second, third, None, None]


def test_what_was_overtaken_is_forgotten() -> None:
    """A kept update that the ledger told again meanwhile takes no room."""
    early, (_, second, third) = Early(), _updates()
    early.keep(second, 1)
    early.keep(third, 1)

    assert early.next(second.execution_id, 3) is None
    assert early.keep(second, 1)


def test_only_the_first_of_an_execution_has_to_be_asked_for() -> None:
    """While one is kept the question is under way."""
    early, (_, second, third) = Early(), _updates()

    assert [early.keep(second, 1), early.keep(third, 1)] == [True, False]


def test_what_is_kept_is_bounded() -> None:
    """Beyond the bound the oldest execution is forgotten; too large ones are never kept."""
    early, kept = Early(), [_updates()[1] for _ in range(MOST + 1)]
    for update in kept:
        early.keep(update, 1)
    large = _updates()[1]
    early.keep(large, LARGEST + 1)

    assert early.next(kept[0].execution_id, 1) is None
    assert early.next(kept[-1].execution_id, 1) is kept[-1]
    assert early.next(large.execution_id, 1) is None
