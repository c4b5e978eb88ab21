"""Many seeds on the database of this process, and one that failed cut down to what it fails by."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tests.simulation.play import Failure, Tally, play, stage
from tests.simulation.report import Chunk, Failed
from tests.simulation.rules import RULES
from tests.simulation.sabotage import SABOTAGES, broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.simulation.clockwork import Clock
    from tests.simulation.play import Place

DEPTH: Final = 6
ATTEMPTS: Final = 150
_clocks: list[Clock] = []


@contextmanager
def standing() -> Iterator[None]:
    """Hold the time of this process still."""
    with stage() as clock:
        _clocks.append(clock)
        yield


def play_all(seeds: Iterable[int]) -> Chunk:
    """Play these seeds."""
    chunk = Chunk(known=list(RULES))
    for seed in seeds:
        chunk.seeds += 1
        tally = Tally()
        try:
            play(_clocks[-1], seed, tally)
        except Failure as failed:
            chunk.failures.append(_told(failed))
        chunk.rules += tally.rules
        chunk.answers += tally.answers
        chunk.ends += tally.ends
    return chunk


def first_caught(clock: Clock, name: str, seeds: int) -> tuple[int, str] | None:
    """The first seed that fails while the product is broken in this way, and by what."""
    with broken(name):
        for seed in range(seeds):
            try:
                play(clock, seed, Tally())
            except Failure as failed:
                return seed, f"{type(failed.why).__name__}: {failed.why}"
    return None


def try_sabotage(name: str, seeds: int) -> tuple[str, tuple[int, str] | None]:
    """The same on the clock of this process."""
    return name, first_caught(_clocks[-1], name, seeds)


def names_of_sabotages() -> list[str]:
    """Every way in which the product can be broken."""
    return list(SABOTAGES)


def cut_down(seed: int) -> Failed | None:
    """Play one seed; what is left of it when it is cut down, or None when it holds."""
    try:
        play(_clocks[-1], seed, Tally())
    except Failure as failed:
        return _told(shrink(_clocks[-1], failed))
    return None


def shrink(clock: Clock, failed: Failure, attempts: int = ATTEMPTS) -> Failure:
    """Give the same failure with fewer rules, as far as this many attempts lead.

    Each rule draws from numbers of its own, so that it does the same when others are left out.
    """
    size = len(failed.places) // 2
    begin = 1  # behind the opening
    while size and attempts:
        if begin >= len(failed.places):
            begin, size = 1, size // 2
            continue
        attempts -= 1
        fewer = _again(clock, failed, [*failed.places[:begin], *failed.places[begin + size :]])
        if fewer is None:
            begin += size
        else:
            failed = fewer
    return failed


def _again(clock: Clock, failed: Failure, places: list[Place]) -> Failure | None:
    try:
        play(clock, failed.seed, Tally(), places)
    except Failure as again:
        return again if type(again.why) is type(failed.why) else None
    return None


def _told(failed: Failure) -> Failed:
    why = traceback.format_exception(failed.why, limit=-DEPTH)
    return Failed(failed.seed, tuple(failed.steps), "".join(why))
