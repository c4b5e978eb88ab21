"""Reconciliation in the Brain's database: the verified result, its audit record and the receipt.

One commit for all three (R201). It is for calls that ran here; one that ran in a pool is reconciled
in the ledger, and here only when the ledger has lost it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.strict_json import digest
from sessions_app.contract.errors import NotFound
from sessions_app.machine import reconciling
from sessions_app.machine.receipts import Admitted, Control
from sessions_app.models import AuditEntry, ToolCall
from sessions_app.store.commands import admit
from sessions_app.store.inbox import received
from sessions_app.store.looking import look
from sessions_app.store.observing import RECONCILED

if TYPE_CHECKING:
    from hands_app.contract.reconciling import Reconciliation
    from sessions_app.contract.views import Receipt
    from sessions_app.models import Turn
    from sessions_app.store.unit import Unit

OPERATION = "reconcile"


@look
def find(execution_id: str) -> ToolCall:
    """The call of any Session, for operators who hold only its id; raises NotFound."""
    found = ToolCall.objects.select_related("thread__session").filter(pk=execution_id).first()
    if found is None:
        msg = f"execution {execution_id} was not found"
        raise NotFound(msg)
    return found


def reconcile(call: ToolCall, asked: Reconciliation) -> Receipt:
    """End the call as it was verified, once for its request id; raises Conflict, Unavailable."""
    key = call.thread.key_in(call.thread.session.key)

    def decide(unit: Unit, turn: Turn) -> Admitted:
        answer = reconciling.reconcile(unit.change, received(unit, call.pk), asked)
        unit.change.add(_audit(unit, turn, asked))
        return answer

    control = Control(OPERATION, key, call.turn_id, asked.request_id, asked.content)
    return admit(control, decide)


def _audit(unit: Unit, turn: Turn, asked: Reconciliation) -> AuditEntry:
    return AuditEntry(
        id=unit.change.new_id("aud_"),
        session=turn.session,
        actor=asked.operator,
        action=RECONCILED,
        target=asked.execution_id,
        reason=asked.evidence,
        before={"state": asked.expected},
        after={
            "state": asked.result.state.value,
            "requestId": asked.request_id,
            "resultDigest": digest(asked.result.to_json()),
        },
        at=unit.now,
    )
