"""Where a Turn's cost goes: `make bench PROFILE=1`. One Turn after another, in this process.

Statements are counted and timed as the client sees them (COMMIT to the millisecond); CPU is that of
the thread at work, without a profiler; functions are weighed by one in rounds of their own, which
it makes several times slower: look at the shares there.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import django

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.counting import Operation
    from tests.benchmarks.stage import Stage

TURNS: Final = 60
_WARM_UP: Final = 15
_FUNCTIONS: Final = 30
_NAMES: Final = ("submit", "claim", "load", "model step", "tool step", "finish", "look")
_ROOMS: Final = (
    ("sessions_app/store", "sessions_app.store"),
    ("sessions_app/machine", "sessions_app.machine"),
    ("sessions_app/models", "sessions_app.models"),
    ("sessions_app/brain", "sessions_app.brain"),
    ("sessions_app/harnesses", "sessions_app.harnesses"),
    ("sessions_app", "sessions_app, the rest"),
    ("hands_app/contract", "hands_app.contract (JSON, ids)"),
    ("django/db/models/sql", "django: building SQL"),
    ("django/db/models", "django: models and querysets"),
    ("django/db", "django: connections"),
    ("django", "django, the rest"),
    ("psycopg", "psycopg"),
    ("pydantic", "pydantic"),
    ("asyncio", "asyncio"),
    ("json/", "json"),
)


@dataclass(slots=True)
class Spent:
    """What the calls of one operation took together."""

    calls: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    def add(self, wall: float, cpu: float) -> None:
        """One call more."""
        self.calls += 1
        self.wall += wall
        self.cpu += cpu


@dataclass
class Clocks:
    """Times each call of the store, in the order in which a Turn makes them."""

    spent: list[Spent] = field(default_factory=lambda: [Spent() for _ in _NAMES])
    place: int = 0

    @contextmanager
    def look(self, name: str) -> Iterator[Operation]:
        """Time one call."""
        from tests.benchmarks.counting import Operation  # noqa: PLC0415 - after Django's setup

        wall, cpu = time.perf_counter(), time.thread_time()
        yield Operation(name)
        passed = time.perf_counter() - wall, time.thread_time() - cpu
        self.spent[self.place % len(_NAMES)].add(*passed)
        self.place += 1


@dataclass
class Functions:
    """Weighs the functions of the threads that talk to the database."""

    stats: pstats.Stats | None = None

    @contextmanager
    def look(self, name: str) -> Iterator[Operation]:
        """Weigh one call; only one profiler may be at work in a process."""
        from tests.benchmarks.counting import Operation  # noqa: PLC0415 - after Django's setup

        profile = cProfile.Profile(time.thread_time)
        with profile:
            yield Operation(name)
        if self.stats is None:
            self.stats = pstats.Stats(profile)
        else:
            self.stats.add(profile)


def main() -> int:
    """Run and print everything."""
    django.setup()
    from sessions_app.store import bell  # noqa: PLC0415 - after Django's setup
    from tests.benchmarks.stage import Silence  # noqa: PLC0415 - as above

    bell.wakeups = Silence  # type: ignore[assignment]  # its type is a function
    _statements()
    _clocks(Silence)
    _functions()
    return 0


def _staged(look: Callable[[str], Any], turns: int, seen: Callable[..., object]) -> None:
    """Run Turns, after some that are not looked at; `seen` gets the operations of each."""
    from tests.benchmarks.counting import recorded  # noqa: PLC0415 - after Django's setup
    from tests.benchmarks.stage import Stage  # noqa: PLC0415 - as above

    stage = Stage(recorded)
    for number in range(_WARM_UP + turns):
        if number == _WARM_UP:
            stage.look_with(look)
        seen(number >= _WARM_UP, _turn(stage))
    stage.close()


def _turn(stage: Stage) -> list[Operation]:
    submitted, turn_id = stage.submit(stage.session(), "turn k")
    return [submitted, *stage.drive(turn_id)]


def _statements() -> None:
    """Print what one Turn says, and how long each kind of statement takes."""
    from tests.benchmarks.counting import recorded  # noqa: PLC0415 - after Django's setup

    found: list[list[Operation]] = []
    _staged(recorded, TURNS, lambda counts, said: found.append(said) if counts else None)
    print(f"\n{'operation':<14}{'statements':>11}{'commits':>9}{'round trips':>13}   of which")
    for name, operation in zip(_NAMES, found[-1], strict=True):
        kinds = ", ".join(
            f"{kind} x{n}" if n > 1 else kind for kind, n in operation.kinds().items()
        )
        figures = f"{operation.count:>11}{operation.commits:>9}{operation.round_trips:>13}"
        print(f"{name:<14}{figures}   {kinds}")
    whole = [sum(getattr(each, what) for each in found[-1]) for what in _COLUMNS]
    print(f"{'whole Turn':<14}{whole[0]:>11}{whole[1]:>9}{whole[2]:>13}")
    _kinds(found)


_COLUMNS: Final = ("count", "commits", "round_trips")


def _kinds(turns: list[list[Operation]]) -> None:
    taken: dict[str, list[float]] = defaultdict(list)
    for operations in turns:
        for said in (each for operation in operations for each in operation.statements):
            kind = said.verb if said.is_frame else f"{said.verb} {said.table}"
            taken[kind].append(said.seconds)
    print(f"\n{'kind of statement':<26}{'per Turn':>9}{'ms each':>9}{'ms/Turn':>9}")
    for kind, times in sorted(taken.items(), key=lambda pair: -sum(pair[1])):
        each, together = sum(times) / len(times) * 1000, sum(times) / len(turns) * 1000
        print(f"{kind:<26}{len(times) / len(turns):>9.1f}{each:>9.3f}{together:>9.2f}")


def _clocks(wakeups: Any) -> None:
    """Print wall and CPU time of each call of the store, and of all that is around them."""
    clocks = Clocks()
    begun: list[tuple[float, float, int]] = []
    _staged(
        clocks.look,
        TURNS,
        lambda _counts, _said: begun.append(
            (time.perf_counter(), time.process_time(), wakeups.rung)
        ),
    )
    first, last = begun[_WARM_UP - 1], begun[-1]
    wall, cpu, rung = ((b - a) / TURNS for a, b in zip(first, last, strict=True))
    print(f"\n{'operation':<14}{'wall ms':>9}{'CPU ms':>9}   of this process, database apart")
    for name, spent in zip(_NAMES, clocks.spent, strict=True):
        each = spent.wall / spent.calls * 1000, spent.cpu / spent.calls * 1000
        print(f"{name:<14}{each[0]:>9.2f}{each[1]:>9.2f}")
    print(f"{'whole Turn':<14}{wall * 1000:>9.2f}{cpu * 1000:>9.2f}   with a fresh Session")
    print(f"hints for the broker in one Turn: {rung:.1f}")


def _functions() -> None:
    """Print which functions the CPU of the database work went to."""
    functions = Functions()
    _staged(functions.look, TURNS, lambda _counts, _said: None)
    assert functions.stats is not None
    entries: dict[tuple[str, int, str], tuple[int, int, float, float, Any]]
    entries = functions.stats.stats  # type: ignore[attr-defined]  # typeshed leaves it out
    rooms: dict[str, float] = defaultdict(float)
    for (file, _, name), (_, _, own, _, _) in entries.items():
        rooms[_room(file, name)] += own
    whole = sum(rooms.values())
    print(f"\n{'CPU of the database work, by room':<44}{'ms/Turn':>9}{'share':>8}")
    for room, own in sorted(rooms.items(), key=lambda pair: -pair[1])[:14]:
        print(f"{room:<44}{own / TURNS * 1000:>9.2f}{own / whole:>8.0%}")
    print(f"\n{'function':<64}{'calls':>7}{'own ms':>9}{'ms with all below':>19}")
    ranked = sorted(entries.items(), key=lambda entry: -entry[1][2])[:_FUNCTIONS]
    for (file, line, name), (_, calls, own, below, _) in ranked:
        where = f"{_short(file)}:{line} {name}"[-63:]
        figures = f"{calls / TURNS:>7.1f}{own / TURNS * 1000:>9.3f}{below / TURNS * 1000:>19.3f}"
        print(f"{where:<64}{figures}")


def _room(file: str, name: str) -> str:
    if file == "~":
        return f"built in: {'psycopg' if 'psycopg' in name else 'others'}"
    return next((title for part, title in _ROOMS if part in file), "others")


def _short(file: str) -> str:
    return "/".join(Path(file).parts[-3:])


if __name__ == "__main__":
    sys.exit(main())
