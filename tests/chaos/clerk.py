"""Submits Turns from a process of its own, with real hints: `python -m tests.chaos.clerk`.

Each line of input is `[namespace, [[session, text], ...]]` in JSON; the answer is a line that says
how many seconds each submit took. Ends with its input.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter

import django

django.setup()

from sessions_app.runtime import DurableRuntime  # noqa: E402 - Django comes first

_asked: Counter[tuple[str, str]] = Counter()


def submit(runtime: DurableRuntime, namespace: str, name: str, text: str) -> float:
    """Submit; Turns of one Session are `r1`, `r2`, ..."""
    _asked[namespace, name] += 1
    session = runtime.create_session(namespace, name, agent="agent", version="1")
    began = time.monotonic()
    session.submit(f"r{_asked[namespace, name]}", text)
    return round(time.monotonic() - began, 3)


def main() -> None:
    """Obey line by line."""
    with DurableRuntime() as runtime:
        for line in sys.stdin:
            namespace, plan = json.loads(line)
            took = [submit(runtime, namespace, name, text) for name, text in plan]
            sys.stdout.write(f"{json.dumps(took)}\n")
            sys.stdout.flush()


main()
