"""Ending: a Turn moves to its last status, and what was still open of it is closed with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.status import SignalStatus, TurnStatus
from sessions_app.machine import asking, inputs, tools
from sessions_app.machine.table import LEGAL, move

if TYPE_CHECKING:
    from sessions_app.machine.awaiting import Awaiting
    from sessions_app.machine.change import Change

_OPEN = frozenset({SignalStatus.PENDING, SignalStatus.KEPT})


def abandon(change: Change, rows: Awaiting, *, run: str | None = None) -> None:
    """Settle what nobody will begin any more; nobody is asked and nothing waited for (S10)."""
    tools.abandon(change, rows.turn, rows.calls, run=run)
    asking.close(change, rows)


def end(change: Change, rows: Awaiting, status: TurnStatus) -> None:
    """Move to a terminal status; inputs that no step took in are closed by an event (S12)."""
    turn = rows.turn
    if (turn.status, status) not in LEGAL:
        move(change, turn, TurnStatus.CANCELLING)
    move(change, turn, status)
    asking.close(change, rows)
    for signal in rows.signals:
        if signal.status in _OPEN:
            inputs.close(change, turn, signal)
