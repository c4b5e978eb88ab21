"""What operators can look up about outcomes from outside: verified ones, and ones that came late.

Both are audit entries of the call, with states and digests in them; content stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.messages import OUTCOMES
from hands_app.contract.reconciling import is_reconciled
from hands_app.contract.strict_json import digest
from sessions_app.contract.status import CallState
from sessions_app.machine import reconciling
from sessions_app.models import AuditEntry, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.messages import Update
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.store.unit import Unit

RECONCILED = "call.reconciled"
OBSERVED = "call.observed"


def note(unit: Unit, call: ToolCall, update: Update, *, before: str, late: bool) -> None:
    """Note a verified end of a doubt, and an outcome that came after the end of its call."""
    if update.kind not in OUTCOMES:
        return
    seen = update.result()
    told: dict[str, JsonValue] = {
        "state": seen.state.value,
        "resultDigest": digest(seen.to_json()),
    }
    if late:
        told["contradicts"] = reconciling.contradicts(call, seen)
        entry = _entry(unit, call, update, OBSERVED, "its call had ended")
    elif before == CallState.UNKNOWN and is_reconciled(seen):
        entry = _entry(unit, call, update, RECONCILED, "verified; the ledger has the evidence")
    else:
        return
    entry.before, entry.after = {"state": before}, told
    unit.change.add(entry)


def contradicted(turn_id: str | None = None) -> Iterator[AuditEntry]:
    """Late outcomes that differ from the one that stands, the oldest first; of one Turn or all."""
    entries = AuditEntry.objects.filter(action=OBSERVED)
    if turn_id is not None:
        entries = entries.filter(target__in=ToolCall.objects.filter(turn=turn_id).values("id"))
    for entry in entries.order_by("id").iterator():
        if isinstance(entry.after, dict) and entry.after.get("contradicts") is True:
            yield entry


def _entry(unit: Unit, call: ToolCall, update: Update, action: str, why: str) -> AuditEntry:
    return AuditEntry(
        id=unit.change.new_id("aud_"),
        session_id=call.session_id,
        actor=f"route {update.route}",
        action=action,
        target=call.pk,
        reason=f"update {update.event_id}: {why}",
        at=unit.now,
    )
