"""The workloads that only we can run: W7 to W11."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from django.db import connections

from sessions_app.models import ToolCall
from tests.benchmarks import rows
from tests.benchmarks.durable import AGENT, Durable, seconds
from tests.benchmarks.engine import SUBMITTERS
from tests.benchmarks.loads import stamps
from tests.benchmarks.stage import Stage
from tests.benchmarks.streams import streams
from tests.benchmarks.workloads import QUICK, percentiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.workloads import Figures, Sizes

_THREADS: Final = 16
_BATCHES: Final = 5
_LOOKS: Final = 40
_CLAIMS: Final = 5
_FINISHED: Final = (0, 200_000, 1_000_000)
_FINISHED_QUICK: Final = (0, 2_000, 10_000)
_PACE: Final = 0.003  # seconds: the system is idle again before the next call


def round_trip(engine: Durable, sizes: Sizes) -> Figures:
    """W7: from the commit that asks Hands to the one that has the result, over Redis."""
    engine.mode = "hands"
    engine.open()
    engine.start(1)
    engine.warm_up()
    engine.prepare(sizes.latencies)
    for number in range(sizes.latencies):
        engine.wait(engine.submit("hands", f"call-{number}-{time.time_ns()}"))
        time.sleep(_PACE)  # calls apart from each other: latency, not throughput
    calls = ToolCall.objects.filter(turn__in=engine.turns)
    taken = seconds(calls.values_list("intended_at", "applied_at"))
    return {**percentiles(taken), **engine.inside()}


def scanning(engine: Durable, sizes: Sizes) -> Figures:
    """W9: a look that finds nothing, and a claim, beside ever more finished Sessions."""
    engine.open()
    stage = Stage()
    _, turn_id = stage.submit(stage.session(), "turn k")
    stage.drive(turn_id)
    rows.forget_statistics()
    steps = _FINISHED if sizes.turns > QUICK.turns else _FINISHED_QUICK
    found: Figures = {}
    for before, count in zip((0, *steps), steps, strict=False):
        rows.clone(turn_id, before, count)
        found |= _costs(stage, f"at {count:,}")
    ratio = found[f"look ms at {steps[-1]:,}"] / found["look ms at 0"]
    claim = found[f"claim ms at {steps[-1]:,}"] / found["claim ms at 0"]
    rows.learn_statistics()
    found |= _costs(stage, "after ANALYZE")
    stage.close()
    return {"look, most/none": ratio, "claim, most/none": claim, **found}


def _costs(stage: Stage, where: str) -> Figures:
    """The best of some batches: what else runs on the machine only ever adds."""
    batches = [_batch(stage) for _ in range(_BATCHES)]
    look, claim = (min(costs) for costs in zip(*batches, strict=True))
    return {f"look ms {where}": look * 1000, f"claim ms {where}": claim * 1000}


def _batch(stage: Stage) -> tuple[float, float]:
    looks, taken = [], []
    for _ in range(_LOOKS):
        began = time.perf_counter()
        assert stage.backend.claim(stage.host, limit=8) == []
        looks.append(time.perf_counter() - began)
    for _ in range(_CLAIMS):
        _, turn_id = stage.submit(stage.session(), "turn k")
        began = time.perf_counter()
        (claim,) = stage.backend.claim(stage.host, limit=8)
        taken.append(time.perf_counter() - began)
        stage.finish(claim)
        assert claim.turn_id == turn_id
    return statistics.median(looks), statistics.median(taken)


def contention(engine: Durable, sizes: Sizes) -> Figures:
    """W10: one Session with 16 Threads beside 16 Sessions, the same Turns in both."""
    engine.open()
    engine.start(1)
    engine.warm_up()
    each = max(1, sizes.turns // _THREADS)
    many = _rate(engine, each, shared=False)
    one = _rate(engine, each, shared=True)
    return {"one/many": one / many, "turns/s one": one, "turns/s many": many}


def _rate(engine: Durable, each: int, *, shared: bool) -> float:
    engine.prepare(1 if shared else _THREADS)
    sessions = [engine.sessions.popleft() for _ in range(1 if shared else _THREADS)]
    threads = [
        sessions[0].create_thread(f"t{n}", AGENT) if shared else sessions[n].main
        for n in range(_THREADS)
    ]

    def fill(number: int) -> list[str]:
        asked = (f"{number}-{n}-{time.time_ns()}" for n in range(each))
        try:
            return [threads[number].submit(key, f"turn {key}").turn_id for key in asked]
        finally:
            connections.close_all()

    began = time.perf_counter()
    with ThreadPoolExecutor(SUBMITTERS) as pool:
        for turn_ids in pool.map(fill, range(_THREADS)):
            engine.turns += turn_ids
    engine.wait_until_idle()
    return _THREADS * each / (time.perf_counter() - began)


def storage(engine: Durable, sizes: Sizes) -> Figures:
    """W11: rows and bytes of a Turn of 3 steps, and of a step, early and late in a long Turn."""
    engine.open()
    engine.start(1)
    engine.warm_up()
    engine.prepare(sizes.turns)
    before = rows.size()
    engine.wait_all(engine.submit_many("turn", sizes.turns))
    grown = (rows.size() - before) / sizes.turns
    counted = rows.of_turns(engine.turns)
    figures = {
        "disk bytes/turn": grown,
        "row bytes/turn": counted.bytes / sizes.turns,
        "rows/turn": counted.rows / sizes.turns,
    }
    return {**figures, **_long_turn(engine)}


def _long_turn(engine: Durable) -> Figures:
    engine.prepare(1)
    session = engine.sessions[0]
    key = f"long-{time.time_ns()}"
    engine.wait(engine.submit("long", key))
    at = stamps(key)
    early = rows.of_turns(engine.turns, at[0], at[100])
    late = rows.of_turns(engine.turns, at[-101], at[-1])
    began = time.perf_counter()
    engine.wait(session.submit("after", "turn after"))
    after = time.perf_counter() - began
    return {
        "row bytes/step, first 100": early.bytes / 100,
        "row bytes/step, last 100": late.bytes / 100,
        "rows/step, last 100": late.rows / 100,
        "next turn of that thread ms": after * 1000,
    }


def record(engine: Durable, _sizes: Sizes) -> Figures:
    """Whether everything that was run left its whole record, and no contradiction."""
    engine.open()
    return rows.proof()


WORKLOADS: Final[dict[str, Callable[[Durable, Sizes], Figures]]] = {
    "w7": round_trip,
    "w8": streams,
    "w9": scanning,
    "w10": contention,
    "w11": storage,
    "record": record,
}
