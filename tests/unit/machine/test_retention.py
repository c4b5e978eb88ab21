"""Retention decides by count and by age, in batches, and spares unfinished Turns from age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.contract.errors import Invalid
from sessions_app.machine.retention import Keep, Stamp, floor, may_be_due
from sessions_app.models import Session

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def session(newest: int, pruned: int = 0, **own: int) -> Session:
    """A Session at these sequences, with bounds of its own if it names some."""
    return Session(last_sequence=newest, pruned_through=pruned, **own)


def stamps(*ages: int, after: int = 0) -> list[Stamp]:
    """The oldest events left, by their age in seconds."""
    return [
        Stamp(number, NOW - timedelta(seconds=age)) for number, age in enumerate(ages, after + 1)
    ]


@pytest.mark.parametrize(
    ("keep", "through"),
    [
        (Keep(), 0),
        (Keep(events=3), 2),
        (Keep(events=0), 5),
        (Keep(events=9), 0),
        (Keep(seconds=30), 2),
        (Keep(seconds=0), 5),
        (Keep(events=1, seconds=30), 4),
        (Keep(events=4, seconds=30), 2),
    ],
    ids=str,
)
def test_each_bound_prunes_what_is_beyond_it(keep: Keep, through: int) -> None:
    """Five events, 50 to 10 seconds old: the count goes from the end, age from the beginning."""
    assert floor(session(5), keep, stamps(50, 40, 29, 20, 10), None, NOW) == through


def test_a_sessions_own_bounds_count_first() -> None:
    """What the Session does not say is the deployment's."""
    own = session(5, keep_events=4)

    assert floor(own, Keep(events=1, seconds=45), stamps(50, 40, 30, 20, 10), None, NOW) == 1
    assert floor(own, Keep(events=1, seconds=35), stamps(50, 40, 30, 20, 10), None, NOW) == 2


def test_age_spares_an_unfinished_turn_and_the_count_does_not() -> None:
    """A Turn that waits for months keeps its story; a bound on size stays a bound."""
    ages = stamps(50, 40, 30, 20, 10)

    assert floor(session(5), Keep(seconds=0), ages, 3, NOW) == 2
    assert floor(session(5), Keep(events=1, seconds=0), ages, 3, NOW) == 4


def test_no_more_goes_than_was_looked_at() -> None:
    """One batch at a time, whatever the bounds would let go."""
    assert floor(session(500, 100), Keep(events=0), stamps(9, 8, after=100), None, NOW) == 102


def test_the_floor_never_falls() -> None:
    """Wider bounds bring nothing back."""
    assert floor(session(9, 5), Keep(events=100), stamps(9, 9, after=5), None, NOW) == 5
    assert floor(session(9, 9), Keep(events=0), [], None, NOW) == 9


@given(
    st.lists(st.integers(0, 9), max_size=12),
    st.integers(0, 12) | st.none(),
    st.integers(0, 9) | st.none(),
)
def test_whoever_is_not_looked_at_has_nothing_to_prune(
    ages: list[int], events: int | None, seconds: int | None
) -> None:
    """The cheap look misses no Session."""
    left, one, keep = stamps(*ages), session(len(ages)), Keep(events, seconds)
    oldest_at = left[0].at if left else None

    if not may_be_due(one, keep, oldest_at, NOW):
        assert floor(one, keep, left, None, NOW) == 0


@pytest.mark.parametrize("bound", ["7", 1.5, -1])
def test_what_is_no_bound_is_refused(bound: object) -> None:
    """Whichever of the two it is; nothing of it reaches a row."""
    with pytest.raises(Invalid, match="no retention"):
        Keep(events=bound)  # type: ignore[arg-type]  # as an untyped caller does
    with pytest.raises(Invalid, match="no retention"):
        Keep(seconds=bound)  # type: ignore[arg-type]  # as an untyped caller does
