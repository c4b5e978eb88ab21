"""Ending an UNKNOWN by evidence, wherever the call ran (R199 to R202).

The host authorises the operator and verifies the fact before it calls this; no HTTP path, no queue
and no tool of a model leads here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.module_loading import import_string

from sessions_app.contract.errors import Conflict, NotFound
from sessions_app.contract.reconciling import ReconciledView
from sessions_app.machine.intake import may_be_sent
from sessions_app.store import reconciling

if TYPE_CHECKING:
    from hands_app.contract.reconciling import Reconciliation
    from sessions_app.models import ToolCall
    from sessions_app.ports import Ledger


def reconcile(asked: Reconciliation, *, ledger_lost: bool) -> ReconciledView:
    """Find the call, and record the evidence in the database that its outcome belongs to."""
    call = reconciling.find(asked.execution_id)
    if may_be_sent(call) and not ledger_lost:
        return ReconciledView(
            call.pk, asked.request_id, call.turn_id, _in_ledger(call, asked), "ledger"
        )
    if ledger_lost and not may_be_sent(call):
        msg = f"{call.pk} ran in the brain; no ledger has it, leave --ledger-lost out"
        raise Conflict(msg)
    receipt = reconciling.reconcile(call, asked)
    return ReconciledView(
        call.pk, receipt.request_id, call.turn_id, receipt.outcome.upper(), "brain"
    )


def _in_ledger(call: ToolCall, asked: Reconciliation) -> str:
    ledger: Ledger = import_string(settings.DURABLE["LEDGER"])()
    try:
        return ledger.reconcile(asked)
    except NotFound as lost:
        msg = f"{lost}; if it was lost there, say so with --ledger-lost (route {call.route})"
        raise NotFound(msg) from lost
