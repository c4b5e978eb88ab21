"""What a Hands process may have, as the operating system holds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.covers import covers

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import os
from pathlib import Path
from hands_app.settings import read_environment
from hands_app.worker.limits import confine

told = {"DURABLE_HANDS_MEMORY_BYTES": str(300 << 20), "DURABLE_HANDS_OPEN_FILES": "40"}
confine(read_environment(told))
print(len(bytearray(1 << 20)))
try:
    bytearray(1 << 30)
except MemoryError:
    print("no memory")
opened = []
try:
    opened += (os.open(os.devnull, os.O_RDONLY) for _ in range(100))
except OSError:
    print("no files")
"""


@covers("R196")
def test_memory_and_files_end_where_the_environment_says() -> None:
    """R196: a bound of the process, which a tool meets as an ordinary exception."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert done.stdout.split("\n") == ["1048576", "no memory", "no files", ""]
