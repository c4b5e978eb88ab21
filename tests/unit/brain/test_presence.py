"""The presence lock of one machine: it lives exactly as long as its process (S4)."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sessions_app.brain.presence import LOCK_FILE, FilePresence
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HOLDER = """
import sys
from pathlib import Path
from sessions_app.brain.presence import FilePresence
presence = FilePresence(Path(sys.argv[1]))
presence.keep()
print(presence.key, flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a process that holds a lock; gives it and its key."""
    process = subprocess.Popen(
        (sys.executable, "-c", _HOLDER, str(path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@poses("S4")
def test_s4_a_killed_process_is_seen_and_a_living_one_is_not(state_dir: Path) -> None:
    """The kernel frees the byte with the process, however it ended."""
    path = state_dir / LOCK_FILE
    mine = FilePresence(path)
    assert mine.keep()

    with holder(path) as (process, key):
        assert mine.free({key}) == set()
        process.kill()
        process.wait()
        assert mine.free({key}) == {key}

    mine.close()


def test_looking_takes_no_lock_and_drops_none(state_dir: Path) -> None:
    """A process that looks at others keeps its own lock and hides nobody."""
    path = state_dir / LOCK_FILE
    mine = FilePresence(path)
    mine.keep()
    mine.free({1, 2, 3})

    with holder(path) as (_, key):
        second = FilePresence(path)  # another descriptor of this process, never closed here
        assert second.keep()
        assert mine.free({key, 5}) == {5}

    assert not mine.keep()
    assert mine.free({mine.key}) == set()
