"""Rows held in memory for decisions: nothing here touches a database."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from sessions_app.machine.change import Change
from sessions_app.machine.failures import Policy
from sessions_app.machine.settling import Invocation
from sessions_app.models import Run, Session, Step, Thread, ToolCall, Turn

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def new_id(prefix: str) -> str:
    """An id source as the machine is given one."""
    return f"{prefix}{next(_numbers)}"


def at(seconds: float) -> datetime:
    """A moment so many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def change(now: datetime = NOW) -> Change:
    """An empty change that knows the scene's Thread."""
    made = Change(now=now, new_id=new_id)
    made.public_ids["thr_1"] = "main"
    return made


def session() -> Session:
    """An open Session."""
    return Session(id="ses_1", namespace="acme", session_id="chat", created_at=NOW)


def thread(**columns: Any) -> Thread:
    """An open Thread that nobody owns."""
    base = {"id": "thr_1", "session": session(), "thread_id": "main", "namespace": "acme"}
    return Thread(**{**base, "definition": "agent", "version": "1", "created_at": NOW, **columns})


def turn(**columns: Any) -> Turn:
    """A queued Turn."""
    base = {"id": "turn_1", "session_id": "ses_1", "thread_id": "thr_1", "ordinal": 1}
    more = {"request_id": "r1", "input": {}, "input_digest": "", "created_at": NOW}
    return Turn(**{**base, **more, **columns})


def leased(**columns: Any) -> Thread:
    """A Thread that somebody owns for another ten seconds."""
    lease = {
        "lease_host": "host_1",
        "lease_token": "1.a",
        "lease_expires_at": at(10),
        "wake_at": at(10),
    }
    return thread(**{**lease, "lease_epoch": 1, **columns})


def call(state: str = "STARTED", **columns: Any) -> ToolCall:
    """A tool call of the Turn."""
    base = {"id": new_id("exe_"), "session_id": "ses_1", "thread_id": "thr_1", "turn_id": "turn_1"}
    more = {
        "call_id": "c",
        "ordinal": 0,
        "round": 1,
        "name": "tool",
        "arguments": {},
        "binding": {},
    }
    rest = {
        "route": "local",
        "effect": "once",
        "state": state,
        "origin_run": "run_1",
        "intended_at": NOW,
    }
    return ToolCall(**{**base, **more, **rest, **columns})


def invocation(**columns: Any) -> Invocation:
    """A running invocation in its first REASONING Step."""
    owned = leased()
    running = turn(status="RUNNING", started_at=NOW, run_id="run_1", thread=owned)
    run = Run(
        id="run_1",
        session_id="ses_1",
        thread=owned,
        turn=running,
        ordinal=1,
        host="host_1",
        token="1.a",
        started_at=NOW,
    )
    step = Step(id="step_1", run=run, turn=running, ordinal=1, phase="REASONING", started_at=NOW)
    base: dict[str, Any] = {
        "session": session(),
        "thread": owned,
        "turn": running,
        "run": run,
        "step": step,
    }
    return Invocation(
        **{
            **base,
            "calls": [],
            "signals": [],
            "policy": Policy(),
            "build": "b",
            "steps": 1,
            **columns,
        }
    )
