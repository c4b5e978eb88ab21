"""The actions of fault points and how a plan of them is written.

Compact form: `name=action[:argument][@hit]`, several joined by `;`; `trace=PATH` notes each hit.
With `@2` only the second hit of this process acts; without it every hit does. Actions:

| Action | Does |
| - | - |
| `raise[:text]` | raises `FaultRaised` |
| `exit[:code]` | leaves by `os._exit`, code 70 unless given |
| `kill` | SIGKILL to itself |
| `kill-once:PATH` | the same, but only by the first process that makes PATH |
| `touch-kill:PATH` | notes the hit in PATH, then SIGKILL |
| `stop` | SIGSTOP to itself |
| `hang:PATH` | waits until PATH exists |
| `touch:PATH` | notes the hit in PATH and goes on |
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_POLL_SECONDS: Final = 0.01
_EXIT_CODE: Final = 70


class FaultRaised(Exception):
    """What the action `raise` raises."""


@dataclass
class Rule:
    """What one point does; `hits` counts how often it was reached in this process."""

    name: str
    act: Callable[[str], object]
    only_hit: int | None = None
    trace: str | None = None
    hits: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def hit(self) -> None:
        """Count, note and act."""
        with self._lock:
            self.hits += 1
            hits = self.hits
        if self.trace is not None:
            _note(self.trace, self.name)
        if self.only_hit in (None, hits):
            self.act(self.name)


def parse_plan(text: str) -> dict[str, Rule]:
    """Read a plan in JSON or compact form; raise ValueError for one that means nothing."""
    text = text.strip()
    if not text:
        return {}
    if text.startswith("{"):
        document = json.loads(text)
        trace, points = document.get("trace"), document["points"]
    else:
        points = dict(part.strip().split("=", 1) for part in text.split(";") if part.strip())
        trace = points.pop("trace", None)
    return {name: parse_rule(name, action, trace) for name, action in points.items()}


def parse_rule(name: str, action: str | Callable[[str], object], trace: str | None = None) -> Rule:
    """Read one action; a callable stands for itself."""
    if not isinstance(action, str):
        return Rule(name, action, trace=trace)
    body, _, hit = action.rpartition("@") if _ends_with_hit(action) else (action, "", "")
    verb, _, argument = body.partition(":")
    if verb not in _ACTIONS or (verb in _NEED_PATH and not argument):
        message = f"fault point {name}: no such action: {action!r}"
        raise ValueError(message)
    return Rule(name, partial(_ACTIONS[verb], argument), int(hit) if hit else None, trace)


def _ends_with_hit(action: str) -> bool:
    return action.rpartition("@")[2].isdigit() and "@" in action


def _raise(text: str, name: str) -> None:
    raise FaultRaised(text or name)


def _exit(code: str, _name: str) -> None:
    os._exit(int(code) if code else _EXIT_CODE)


def _kill(_argument: str, _name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_once(path: str, name: str) -> None:
    try:
        Path(path).touch(exist_ok=False)
    except FileExistsError:
        return
    _kill("", name)


def _touch_kill(path: str, name: str) -> None:
    _note(path, name)
    _kill("", name)


def _stop(_argument: str, _name: str) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _hang(path: str, _name: str) -> None:
    while not Path(path).exists():
        time.sleep(_POLL_SECONDS)


def _note(path: str, name: str) -> None:
    """Append `name pid` in one write, so that lines of several processes stay whole."""
    with Path(path).open("ab", buffering=0) as file:
        file.write(f"{name} {os.getpid()}\n".encode())


_ACTIONS: Final[Mapping[str, Callable[[str, str], None]]] = {
    "raise": _raise,
    "exit": _exit,
    "kill": _kill,
    "kill-once": _kill_once,
    "touch-kill": _touch_kill,
    "stop": _stop,
    "hang": _hang,
    "touch": _note,
}
_NEED_PATH: Final = frozenset({"kill-once", "touch-kill", "hang", "touch"})
