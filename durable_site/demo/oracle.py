"""The demo's oracle: one line on disk for each real effect of a tool, so that repeats show."""

import json
import os
from pathlib import Path

_VARIABLE = "DURABLE_DEMO_ORACLE"


def record(tool: str, key: str) -> None:
    """Append one line that survives the death of this process; nothing without an oracle file."""
    path = os.environ.get(_VARIABLE)
    if not path:
        return
    line = json.dumps({"tool": tool, "key": key, "pid": os.getpid()}) + "\n"
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line.encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def effects(path: Path) -> list[tuple[str, str]]:
    """Return tool and key of every recorded effect, in order."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [(line["tool"], line["key"]) for line in map(json.loads, lines)]
