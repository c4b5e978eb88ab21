"""Turns every polite request to stop into the one that Python programs know."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def requests_interrupt() -> Iterator[None]:
    """Let Ctrl-C, a service manager and a closing terminal all raise KeyboardInterrupt."""
    before = {number: signal.signal(number, _interrupt) for number in _REQUESTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
