"""How an UNKNOWN ends by evidence in the Brain, and what comes after an end (law 7, S10, I28)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Conflict
from sessions_app.contract.status import CallState
from sessions_app.machine import intake
from sessions_app.machine.receipts import Admitted

if TYPE_CHECKING:
    from hands_app.contract.messages import ExecutionResult
    from hands_app.contract.reconciling import Reconciliation
    from sessions_app.machine.change import Change
    from sessions_app.machine.intake import Received
    from sessions_app.models import ToolCall


def reconcile(change: Change, rows: Received, asked: Reconciliation) -> Admitted:
    """End the call as it was verified; raises Conflict unless it is UNKNOWN (R200)."""
    call = rows.call
    if call.state != CallState.UNKNOWN:
        msg = f"{call.id} is {call.state}; only UNKNOWN is reconciled"
        raise Conflict(msg)
    intake.end(change, rows, asked.result)
    return Admitted(call.state.lower(), call.id)


def contradicts(call: ToolCall, seen: ExecutionResult) -> bool:
    """Whether an outcome that came after the end differs from the one that stands."""
    if call.state != seen.state.value:
        return True
    stored = call.result.get("content") if isinstance(call.result, dict) else None
    return call.state == CallState.COMPLETED and stored != seen.content
