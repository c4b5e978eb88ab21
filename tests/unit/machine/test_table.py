"""The table of legal moves.

Every arrow raises the revision by one, nothing else is possible (I2, R053).
"""

from __future__ import annotations

import itertools

import pytest

from sessions_app.contract.status import TERMINAL, TurnStatus, WaitReason
from sessions_app.machine.table import LEGAL, IllegalMove, as_markdown, move
from tests.unit.machine.scene import change, turn

PAIRS = list(itertools.product(TurnStatus, TurnStatus))


@pytest.mark.parametrize(("start", "end"), PAIRS)
def test_a_move_is_listed_or_refused(start: TurnStatus, end: TurnStatus) -> None:
    """Legal moves raise the revision by one and state an event; illegal ones change nothing."""
    subject, made = turn(status=start, reason=None), change()
    reason = WaitReason.TOOL if end == TurnStatus.WAITING else None

    if (start, end) in LEGAL:
        move(made, subject, end, reason)
        assert (subject.status, subject.revision) == (end, 2)
        assert [draft.payload["to"] for _, draft in made.events] == [end.value]
    else:
        with pytest.raises(IllegalMove):
            move(made, subject, end, reason)
        assert (subject.status, subject.revision, made.events) == (start, 1, [])


def test_a_terminal_turn_never_moves_again() -> None:
    """No arrow leaves COMPLETED, FAILED or CANCELLED."""
    assert not [pair for pair in LEGAL if pair[0] in TERMINAL]


def test_every_state_can_be_reached_and_left() -> None:
    """Every state but the first has an arrow in, every one but the terminal ones an arrow out."""
    assert {end for _, end in LEGAL} == set(TurnStatus)
    assert {start for start, _ in LEGAL} == set(TurnStatus) - TERMINAL


def test_a_terminal_move_dates_the_end() -> None:
    """`finished_at` is set exactly by the move into a terminal state."""
    subject = turn(status=TurnStatus.RUNNING)
    move(change(), subject, TurnStatus.COMPLETED)
    assert subject.finished_at is not None


def test_the_reference_page_lists_every_arrow() -> None:
    """The page is made from the table."""
    assert as_markdown().count("\n") == len(LEGAL) + 1
