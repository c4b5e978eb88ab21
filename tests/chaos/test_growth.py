"""A long-lived Brain does not grow with the Turns that it has run (C12)."""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import psutil
import pytest

from sessions_app.models import Turn
from sessions_app.store.invariants import check
from tests.chaos.field import TIMEOUT, until
from tests.covers import poses
from tests.integration.brain.brains import Brains

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stores import Store

pytestmark = pytest.mark.timeout(TIMEOUT)

WARM_UP: Final = 150  # until the driver has prepared what it prepares
TURNS: Final = 100
ROUNDS: Final = 5
"""A leak shows in each round; a cache that still fills by the way does not."""
MEGABYTES: Final = 6


class Size(NamedTuple):
    """What the process holds."""

    blocks: int  # objects of Python, small ones each
    threads: int
    files: int
    memory: int


@pytest.fixture
def brains(store: Store, state_dir: Path) -> Iterator[Brains]:
    """Give a Brain in the test's own process."""
    made = Brains(store, state_dir)
    yield made
    made.close()


@poses("C12")
def test_c12_a_brain_does_not_grow_with_the_turns_it_ran(brains: Brains) -> None:
    """After warm-up: the same threads and files, less than one more object a Turn (C12, I43)."""
    brains.start()
    _run(brains, WARM_UP)

    sizes = [_size(brains.store)]
    while len(sizes) <= ROUNDS and not _is_level(sizes):
        _run(brains, TURNS)
        sizes.append(_size(brains.store))

    assert _is_level(sizes), sizes
    assert sizes[-1].threads <= sizes[0].threads
    assert sizes[-1].files <= sizes[0].files
    assert sizes[-1].memory - sizes[0].memory < MEGABYTES * 1024 * 1024
    report = check()
    assert report.is_clean, report.breaches[:5]


def _is_level(sizes: list[Size]) -> bool:
    """Whether some round left less than one more object a Turn."""
    return any(after.blocks - before.blocks < TURNS for before, after in pairwise(sizes))


def _run(brains: Brains, count: int) -> None:
    known = Turn.objects.count()
    for number in range(known, known + count):
        brains.store.submit(brains.store.session(f"chat-{number}"))
    ended = Turn.objects.filter(status="COMPLETED")
    until(lambda: ended.count() == known + count)
    until(lambda: all(brain._scheduler.is_idle for brain in brains.made))


def _size(store: Store) -> Size:
    store.rings.threads.clear()  # the test's own memory of hints
    _empty_bounded_caches()
    gc.collect()
    process = psutil.Process(os.getpid())
    return Size(
        sys.getallocatedblocks(),
        threading.active_count(),
        process.num_fds(),
        process.memory_info().rss,
    )


def _empty_bounded_caches() -> None:
    """Forget what has a bound and is no leak: the driver alone keeps the parts of 128 queries."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and found.cache_info().maxsize:
            found.cache_clear()
