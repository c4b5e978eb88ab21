"""The workloads that every engine can run, ours and the peers' (W1 to W5)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.benchmarks import cpu, effects
from tests.benchmarks.loads import SLOW_STEPS, stamps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.benchmarks.engine import Engine

Figures = dict[str, float]
"""Name (with its unit) and value; the first is the one that engines are compared by."""

_PACE: Final = 0.003
_KILLED_IN: Final = SLOW_STEPS // 2


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each workload one round is."""

    turns: int = 600
    latencies: int = 200
    signals: int = 50
    workers: int = 1


QUICK: Final = Sizes(turns=40, latencies=15, signals=5)
"""For a look whether everything runs; its figures say nothing."""


def throughput(engine: Engine, sizes: Sizes) -> Figures:
    """W1: a backlog of Turns of 3 durable steps, from the first submit to the last end."""
    _begin(engine, sizes.workers)
    engine.prepare(sizes.turns)
    before, began = cpu.used(engine), time.perf_counter()
    handles = engine.submit_many("turn", sizes.turns)
    submitted = time.perf_counter()
    engine.wait_all(handles)
    seconds = time.perf_counter() - began
    return {
        "turns/s": sizes.turns / seconds,
        "submits/s": sizes.turns / (submitted - began),
        **cpu.spent(before, cpu.used(engine), sizes.turns),
    }


def latency(engine: Engine, sizes: Sizes) -> Figures:
    """W2: one Turn at a time on an idle system, from the submit to the client's knowing."""
    _begin(engine, sizes.workers)
    engine.prepare(sizes.latencies)
    taken = []
    for number in range(sizes.latencies):
        began = time.perf_counter()
        engine.wait(engine.submit("turn", f"single-{number}-{time.time_ns()}"))
        taken.append(time.perf_counter() - began)
        time.sleep(_PACE)
    return {**percentiles(taken), **engine.inside()}


def history(engine: Engine, _sizes: Sizes) -> Figures:
    """W3: 1,000 durable steps of 1 KB in one Turn; what a step costs early and late."""
    _begin(engine, 1)
    engine.prepare(1)
    key = f"long-{time.time_ns()}"
    engine.wait(engine.submit("long", key))
    at = stamps(key)
    first, last = (at[100] - at[0]) * 10, (at[-1] - at[-101]) * 10
    return {"last 100 ms/step": last, "first 100 ms/step": first, "last/first": last / first}


def recovery(engine: Engine, _sizes: Sizes) -> Figures:
    """W4: SIGKILL in the 10th of 20 steps of 100 ms, a standby present; time to the next step."""
    _begin(engine, 2)
    engine.prepare(1)
    key = f"slow-{time.time_ns()}"
    handle = engine.submit("slow", key)
    before = effects.until("slow", key, _KILLED_IN)
    killed = time.time()
    engine.kill(engine.owner(before[-1].pid))
    after = effects.until("slow", key, len(effects.noted("slow", key)) + 1)
    engine.wait(handle)
    done = [each.number for each in effects.noted("slow", key)]
    return {
        "recovery s": after[-1].at - killed,
        "steps repeated": float(len(done) - len(set(done))),
        "steps lost": float(SLOW_STEPS - len(set(done))),
    }


def resume(engine: Engine, sizes: Sizes) -> Figures:
    """W5: from before the call that delivers an event to the waiting Turn's next line."""
    _begin(engine, 1)
    engine.prepare(sizes.signals)
    taken = []
    for number in range(sizes.signals):
        key = f"signal-{number}-{time.time_ns()}"
        handle = engine.submit("signal", key)
        engine.await_waiting(handle, key)
        time.sleep(10 * _PACE)
        began = time.time()
        engine.signal(handle, key)
        (resumed,) = effects.until("resumed", key)
        taken.append(resumed.at - began)
    return percentiles(taken)


SHARED: Final[dict[str, Callable[[Engine, Sizes], Figures]]] = {
    "w1": throughput,
    "w2": latency,
    "w3": history,
    "w4": recovery,
    "w5": resume,
}


def percentiles(seconds: Sequence[float]) -> Figures:
    """Median, 95th and 99th percentile, in milliseconds."""
    ranked = sorted(seconds)
    found = {
        f"p{each} ms": ranked[min(len(ranked) - 1, len(ranked) * each // 100)] * 1000
        for each in (50, 95, 99)
    }
    return {**found, "p99/p50": found["p99 ms"] / found["p50 ms"]}


def _begin(engine: Engine, workers: int) -> None:
    effects.clear()
    engine.open()
    engine.start(workers)
    engine.warm_up()
