"""Waiting for a Turn: look, sleep a little longer each time, look again. It holds no lock."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Final

from asgiref.sync import sync_to_async

from sessions_app.contract.errors import Invalid, Unavailable, WaitTimeout
from sessions_app.store import joining, reads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.views import TurnView

FIRST_PAUSE: Final = 0.01
LONGEST_PAUSE: Final = 0.25


def wait(turn_id: str, key: ThreadKey, timeout: float | None, closed: Event) -> TurnView:
    """Block until the Turn has ended; `closed` ends the wait, never the Turn (R022, R023)."""
    joining.refuse_waiting()
    check_timeout(timeout)
    for pause in pauses(timeout):
        if closed.wait(pause):
            raise closed_error(turn_id, key)
        view = reads.turn(turn_id, key)
        if view.is_terminal:
            return view
    raise timeout_error(turn_id, key, timeout)


async def await_(turn_id: str, key: ThreadKey, timeout: float | None, closed: Event) -> TurnView:  # noqa: ASYNC109 - the error of a deadline names Thread and Turn
    """Do as `wait` does, with the loop free meanwhile."""
    await sync_to_async(joining.refuse_waiting)()
    check_timeout(timeout)
    look = sync_to_async(reads.turn)
    for pause in pauses(timeout):
        await asyncio.sleep(pause)
        if closed.is_set():
            raise closed_error(turn_id, key)
        view = await look(turn_id, key)
        if view.is_terminal:
            return view
    raise timeout_error(turn_id, key, timeout)


def check_timeout(timeout: object) -> None:
    """Raise Invalid for what is no time; a bool or NaN would end the wait at once."""
    if timeout is None or (type(timeout) in {int, float} and timeout >= 0):  # type: ignore[operator]  # a number here
        return
    msg = f"timeout must be seconds from 0 on, or None to wait without an end, not {timeout!r:.40}"
    raise Invalid(msg)


def pauses(timeout: float | None) -> Iterator[float]:
    """Pauses before each look: none, then a quarter of the time waited so far, within bounds.

    So whoever waits hears of an end at most a quarter late, and a long wait costs little; the last
    pause ends at the timeout.
    """
    begun = time.monotonic()
    end = math.inf if timeout is None else begun + timeout
    yield 0.0
    while (left := end - (now := time.monotonic())) > 0:
        yield min(max(FIRST_PAUSE, (now - begun) / 4), LONGEST_PAUSE, left)


def timeout_error(turn_id: str, key: ThreadKey, timeout: float | None) -> WaitTimeout:
    """The wait ended first (R022)."""
    msg = f"turn {turn_id} of thread {key} did not end within {timeout} s; it goes on, wait again"
    return WaitTimeout(msg)


def closed_error(turn_id: str, key: ThreadKey) -> Unavailable:
    """The runtime was closed first."""
    msg = f"the runtime was closed while turn {turn_id} of thread {key} was waited for; it goes on"
    return Unavailable(msg)
