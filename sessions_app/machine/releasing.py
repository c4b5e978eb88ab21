"""Releasing: a person lets a Turn that took processes down be tried again (S5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Closed, Conflict
from sessions_app.machine.receipts import Admitted

if TYPE_CHECKING:
    from sessions_app.models import Turn


def release(turn: Turn) -> Admitted:
    """Forget its deaths; the next look takes it.

    Raises Conflict for a Turn that is not held.
    """
    if turn.is_terminal:
        msg = f"turn {turn.id} is {turn.status} and never starts again; submit a new turn"
        raise Closed(msg)
    if not turn.suspect:
        msg = f"turn {turn.id} is {turn.status} and is not held as a suspect; explain it"
        raise Conflict(msg)
    turn.suspect = False
    turn.deaths = 0
    turn.held_until = None
    return Admitted()
