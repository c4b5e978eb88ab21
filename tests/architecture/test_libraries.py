"""Each house is a library: depending on it starts nothing and drags nothing along (R270, R172)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.covers import covers

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
import sys, threading
before = set(sys.modules)
import importlib
importlib.import_module({name!r})
import psutil
me = psutil.Process()
print(threading.active_count(), len(me.children()), len(me.net_connections()))
print(*sorted(set({banned!r}) & {{name.split(".")[0] for name in sys.modules}}))
"""
HEAVY = ["django", "celery", "sqlalchemy", "pydantic_ai", "openai", "redis"]


def look(name: str, banned: list[str]) -> tuple[list[str], list[str]]:
    """Import `name` in a fresh interpreter; what runs afterwards, and which banned modules came."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(name=name, banned=banned)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    running, *came = done.stdout.splitlines()
    return running.split(), " ".join(came).split()


@covers("R270")
@pytest.mark.parametrize(
    ("name", "banned"),
    [
        ("hands_app", HEAVY),
        ("hands_app.contract.messages", HEAVY),
        ("hands_app.tools", HEAVY),
        ("hands_app.ledger", ["django", "pydantic_ai"]),
        ("hands_app.worker.loop", ["django", "pydantic_ai", "sqlalchemy"]),
        ("sessions_app.contract.backend", HEAVY),
        ("sessions_app.contract.views", HEAVY),
        ("sessions_app.ports", HEAVY),
        ("sessions_app.registry", HEAVY),
        ("durable_site.settings", ["pydantic_ai", "openai", "sqlalchemy"]),
    ],
)
def test_importing_a_room_starts_nothing(name: str, banned: list[str]) -> None:
    """No thread, no process, no socket; and no package that the room does not need (R270)."""
    running, came = look(name, banned)

    assert running == ["1", "0", "0"]
    assert came == []
