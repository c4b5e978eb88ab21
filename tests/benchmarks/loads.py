"""What one Turn of each workload is made of, for our agent and for every peer."""

from __future__ import annotations

import time
from typing import Any, Final

from tests.benchmarks import effects

MODEL_REPLY: Final[dict[str, Any]] = {
    "role": "assistant",
    "content": "x" * 930,
    "tool_calls": [{"id": "c1", "name": "lookup"}],
}
"""About 1 KB, as a short answer of a model is."""
TOOL_REPLY: Final[dict[str, Any]] = {"tool_call_id": "c1", "result": {"ok": True, "rows": 3}}
STEPS: Final = 1000
"""Durable steps of the long Turn (W3)."""
SLOW_STEPS: Final = 20
SLOW_SECONDS: Final = 0.1


def model_step(*_: object) -> dict[str, Any]:
    """Answer as a model would."""
    return MODEL_REPLY


def tool_step(*_: object) -> dict[str, Any]:
    """Answer as a tool would."""
    return TOOL_REPLY


def slow_step(key: str, number: int) -> int:
    """One durable step of 100 ms with an effect that everybody sees (W4)."""
    effects.note("slow", key, number)
    time.sleep(SLOW_SECONDS)  # the step itself: 100 ms of work
    return number


class Stamps:
    """When each step of the long Turn began; `done` writes it down for whoever measures."""

    def __init__(self, key: str) -> None:
        """`key` names the Turn."""
        self._key = key
        self._at: list[float] = []

    def step(self) -> None:
        """Note that the next step begins."""
        self._at.append(time.time())

    def done(self) -> None:
        """Tell all of them, and that the last one is over."""
        self.step()
        (effects.folder() / f"stamps-{self._key}").write_text("\n".join(map(repr, self._at)))


def stamps(key: str) -> list[float]:
    """When each step of this Turn began, and when the last one was over."""
    return [float(line) for line in (effects.folder() / f"stamps-{key}").read_text().split()]
