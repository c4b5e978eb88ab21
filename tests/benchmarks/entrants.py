"""Who is measured in what: ours, and the peers with the settings that they are best with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

OURS: Final = "durable"
ONCE: Final = frozenset({"w9", "w11", "record"})
"""Workloads that take their rounds inside, because what they measure grows."""
MISSING: Final = {
    "w6": "limits of the machine: the probe above",
}
WORKLOADS: Final = ("w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "record")


@dataclass(frozen=True, slots=True)
class Entrant:
    """An engine with its settings, and what it can be measured in."""

    engine: str
    mode: str
    workloads: frozenset[str]
    python: str = sys.executable

    @property
    def name(self) -> str:
        """As the table shows it."""
        return self.engine if self.mode == "default" else f"{self.engine} {self.mode}"


US: Final = Entrant(OURS, "default", frozenset(WORKLOADS) - MISSING.keys())

_PEERS: Final = (
    ("absurd", "loops", ("w1",)),  # 8 polling workers with a connection each
    ("absurd", "tuned", ("w2", "w3", "w5")),  # its own worker, polling every 10 ms
    ("absurd", "lease1", ("w4",)),  # the shortest lease; with its own of 120 s it takes 120 s
    ("restate", "default", ("w1", "w2", "w3", "w5")),
    ("dbos", "tuned", ("w1", "w2", "w3", "w5")),  # queue and results polled fast
    ("dbos", "inprocess", ("w1", "w2")),  # no queue: workflows start in the client's process
    ("langgraph", "sync", ("w1", "w2", "w3", "w5")),  # no queue of its own
    ("procrastinate", "tuned", ("w1", "w2", "w5")),  # a chain of jobs
    ("celery", "chain", ("w1", "w2", "w5")),  # no durable step; what our broker alone costs
)


def peers(python: str) -> list[Entrant]:
    """The peers, run by the Python that has their packages."""
    return [Entrant(name, mode, frozenset(ws), python) for name, mode, ws in _PEERS]
