"""Releasing a suspect: an operator's control, admitted once and put on record (S5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.machine import releasing
from sessions_app.machine.receipts import Admitted, Control
from sessions_app.store.commands import admit

if TYPE_CHECKING:
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.views import Receipt
    from sessions_app.models import Turn
    from sessions_app.store.unit import Unit


def release(key: ThreadKey, turn_id: str, request_id: str, actor: str, reason: str) -> Receipt:
    """Let the Turn be tried again; raises NotFound, Conflict, Closed or Unavailable."""

    def decide(_unit: Unit, turn: Turn) -> Admitted:
        return releasing.release(turn)

    return admit(Control("release", key, turn_id, request_id, {"reason": reason}, actor), decide)
