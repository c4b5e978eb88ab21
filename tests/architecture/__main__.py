"""`make check`: style, types, imports and architecture, all of them even when one fails."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.architecture.rules import LONG_FILE

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("durable_site", "sessions_app", "hands_app", "tests")
_SECONDS = 900.0


def main() -> int:
    """Run every check and return 0 when all hold."""
    python = sys.executable
    checks = {
        "ruff": [python, "-m", "ruff", "check", "."],
        "format": [python, "-m", "ruff", "format", "--check", "."],
        "mypy": [python, "-m", "mypy", *_ROOMS, "manage.py"],
        "imports": [str(Path(python).with_name("lint-imports"))],
        "architecture": [python, "-m", "pytest", "-q", "tests/architecture"],
    }
    broken = [name for name, command in checks.items() if not _holds(name, command)]
    _name_long_files()
    print("check:", f"broken: {', '.join(broken)}" if broken else "all hold", flush=True)
    return 1 if broken else 0


def _holds(name: str, command: list[str]) -> bool:
    """Run one check, in a state folder that vanishes, and show what it says when it fails."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="durable-check-") as state:
        done = subprocess.run(
            command,
            cwd=_ROOT,
            env={**os.environ, "DURABLE_STATE_DIR": state},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    holds = done.returncode == 0
    print(
        f"{name}: {'holds' if holds else 'BROKEN'} ({time.monotonic() - begin:.0f} s)", flush=True
    )
    if not holds:
        print(done.stdout, flush=True)
    return holds


def _name_long_files() -> None:
    """Name what should be split before it grows into a failure."""
    for room in _ROOMS:
        for path in sorted((_ROOT / room).rglob("*.py")):
            length = len(path.read_text().splitlines())
            if length > LONG_FILE and "migrations" not in path.parts:
                print(f"long: {path.relative_to(_ROOT)} has {length} lines", flush=True)


if __name__ == "__main__":
    sys.exit(main())
