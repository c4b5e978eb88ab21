"""How an UNKNOWN ends by evidence, and what becomes of an outcome that comes too late (I28)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hands_app.contract.errors import Conflict, NotFound
from hands_app.contract.messages import UpdateKind
from hands_app.machine.execution import Decision, News, State, settle

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.messages import ExecutionResult
    from hands_app.contract.reconciling import Reconciliation
    from hands_app.machine.execution import Execution


def reconcile(known: Execution | None, asked: Reconciliation, now: datetime) -> Decision:
    """End the execution as it was verified; raises NotFound, or Conflict unless it is UNKNOWN."""
    if known is None:
        message = f"the ledger knows no execution {asked.execution_id}"
        raise NotFound(message)
    if known.state is not State.UNKNOWN:
        message = f"{known.execution_id} is {known.state}; only UNKNOWN is reconciled (R200)"
        raise Conflict(message)
    return settle(known, asked.result, now)


def observed(known: Execution, result: ExecutionResult) -> Decision:
    """Tell how an attempt really ended whose execution had ended before; nothing else changes."""
    news = News(UpdateKind.OBSERVED, result.to_json())
    return Decision(replace(known), (news,))
