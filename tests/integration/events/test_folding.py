"""Folding the events of a history gives the snapshot, wherever one begins (I20, R087)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.events import EVERYTHING, EventFilter
from sessions_app.contract.projection import EventProjection
from sessions_app.machine.retention import Keep
from sessions_app.models import Run
from sessions_app.store import retention, snapshots, timeline
from tests.covers import covers
from tests.integration.events.histories import ACTS, History

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.snapshot import Snapshot
    from tests.stores import Store

Act = tuple[str, int]
READER: Final = "reader"
PRUNE: Final = "prune"
EVERY: Final = 4
"""Acts from one look of the eager readers to the next."""


@dataclass
class Reader:
    """Somebody who took a snapshot once, and folds in what comes."""

    history: History
    projection: EventProjection
    within: EventFilter
    seen: set[str] = field(default_factory=set)

    @classmethod
    def begins(cls, history: History, within: EventFilter) -> Reader:
        """Take a snapshot."""
        taken = snapshots.snapshot(history.key, within)
        return cls(history, EventProjection(taken), within)

    @property
    def is_over(self) -> bool:
        """A Run is followed until the next one begins."""
        newest = Run.objects.filter(turn=self.within.turn_id).order_by("-ordinal").first()
        return self.within.run_id is not None and (
            newest is None or newest.pk != self.within.run_id
        )

    def catches_up(self) -> None:
        """Read page after page; where events are gone, take a snapshot."""
        behind = True
        while behind:
            at = self.projection.cursor
            try:
                page = timeline.events(self.history.key, at, 7, self.within)
            except CursorExpired:
                taken = snapshots.snapshot(self.history.key, self.within)
                assert taken.pruned_through > self.projection.sequence
                self.projection.reset(taken)
                continue
            self.projection.accept_page(page)
            self.seen |= {event.type for event in page.items}
            behind = page.through < page.last_sequence

    def sees(self) -> Snapshot:
        """What it has, but for the floor, which no event tells."""
        return replace(self.projection.snapshot(), pruned_through=0)


def _truth(history: History, within: EventFilter) -> Snapshot:
    return replace(snapshots.snapshot(history.key, within), pruned_through=0)


def _scope(history: History, number: int) -> EventFilter:
    """The whole Session, a Thread, a Turn or a Run, as the number says."""
    turns = history.turns()
    if not turns or number % 4 == 0:
        return EVERYTHING
    turn = turns[number % len(turns)]
    thread_id = turn.thread.thread_id
    newest = Run.objects.filter(turn=turn).order_by("-ordinal").first()
    if number % 4 == 1:
        return EventFilter(thread_id)
    if number % 4 == 2 or newest is None:
        return EventFilter(thread_id, turn.pk)
    return EventFilter(thread_id, turn.pk, newest.pk)


def _live(store: Store, acts: Sequence[Act]) -> set[str]:
    """Live through a history with readers of all kinds; gives the types of events that came."""
    with ExitStack() as time:
        history = History(store, time)
        first = Reader(history, EventProjection.of(history.key), EVERYTHING)
        eager, lazy = [first], [Reader.begins(history, EVERYTHING)]
        for place, (name, number) in enumerate(acts):
            if name == READER:
                within = _scope(history, number)
                (eager if number % 2 else lazy).append(Reader.begins(history, within))
            elif name == PRUNE:
                before = _truth(history, EVERYTHING)
                retention.retain(history.key, Keep(events=number))
                retention.prune(history.key)
                assert _truth(history, EVERYTHING) == before
            else:
                history.act(name, number)
            eager, lazy = ([each for each in some if not each.is_over] for some in (eager, lazy))
            if place % EVERY == 0:
                _all_agree([first, *eager[-2:]])
        _all_agree([*eager, *lazy])
        return first.seen


def _all_agree(readers: Sequence[Reader]) -> None:
    for reader in readers:
        reader.catches_up()
        assert reader.sees() == _truth(reader.history, reader.within)


_PROGRESS: Final[list[Act]] = [
    ("submit", 0),
    ("submit", 1),
    ("claim", 0),
]
_acts = st.lists(
    st.tuples(st.sampled_from([*ACTS, READER, PRUNE]), st.integers(0, 11)), min_size=6, max_size=24
)


@covers("R087", "R091", "R094")
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=_acts)
def test_events_fold_into_the_snapshot_from_any_cursor(store: Store, acts: list[Act]) -> None:
    """A snapshot with the later events folded in is the later snapshot, pruned or not (I20)."""
    _live(store, [*_PROGRESS, *acts])


@covers("R070", "R087", "R095")
def test_a_full_history_folds_into_its_snapshot(store: Store) -> None:
    """One history with nearly every kind of event, readers in every scope, pruned on the way."""
    types = _live(store, FULL)

    assert {
        *("turn.recovery", "turn.incompatible", "model.call.lost", "message.completed"),
        *("tool.progress", "tool.unknown", "tool.result", "tool.applied", "interaction.opened"),
        *("signal.applied", "turn.usage"),
    } <= types


FULL: Final[list[Act]] = [
    *(("submit", 0), ("submit", 1), ("submit", 0), (READER, 0), (READER, 1), (READER, 2)),
    *(("claim", 0), ("claim", 0), (READER, 3), ("die", 0), ("claim", 0), ("claim", 0)),
    *(("answer", 1), ("ask aside", 1), ("control", 0), ("end calls", 0), ("apply", 0)),
    *((READER, 7), ("answer", 2), ("die", 0), ("claim", 0), ("claim", 0), ("start calls", 0)),
    *(("end calls", 1), ("apply", 0), ("answer", 3), (READER, 5), ("hear", 0), ("hear", 1)),
    *(("hear", 2), ("hear", 3), (PRUNE, 11), ("claim", 0), ("claim", 0), ("apply", 0)),
    *(("fail", 1), ("wait", 0), ("claim", 0), ("hand over", 0), ("claim", 0), ("hand over", 1)),
    *(("wait", 0), ("claim", 0), ("finish", 1), ("submit", 0), ("claim", 0), ("answer", 1)),
    *(("end calls", 2), (READER, 6), ("control", 3), ("control", 4), ("submit", 1), (PRUNE, 5)),
    *(("claim", 0), ("answer", 4), ("submit", 1), ("control", 5), ("hear", 3)),
]
