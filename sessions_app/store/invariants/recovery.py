"""Recovery: the failures that `turn.recovery` events tell of, their policy and their waits."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sessions_app.contract.events import EventType
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Turn
from sessions_app.store.invariants.look import ROWS, Batch, Fact, Look, facts
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOLD = (EventType.TURN_RECOVERY, EventType.TURN_STATUS, EventType.RUN_STARTED)


def budget_kept(look: Look) -> Iterator[Breach]:
    """I9: the failure count goes up one by one, stays in its policy and equals the stored one."""
    for batch in look.batches:
        counts: dict[str, int] = {}
        for fact in facts(batch, EventType.TURN_RECOVERY):
            count, retries = _number(fact, "failures"), _number(fact, "retries")
            if fact.turn in counts and count != counts[fact.turn] + 1:
                yield Breach(
                    9, fact.turn, f"failure {count} follows on failure {counts[fact.turn]}"
                )
            if count > retries + 1:
                yield Breach(
                    9, fact.turn, f"failure {count} is beyond its policy of {retries} retries"
                )
            counts[fact.turn] = count
        for turn, failures in _charged(batch):
            if turn in counts and counts[turn] != failures:
                yield Breach(9, turn, f"{failures} failures stored, {counts[turn]} told")


def waits_kept(look: Look) -> Iterator[Breach]:
    """I9: no Run begins before its next try; a cancel skips the wait in order to settle (R054)."""
    for batch in look.batches:
        next_try: dict[str, datetime] = {}
        for fact in facts(batch, *_TOLD):
            if fact.type == EventType.TURN_RECOVERY:
                _plan(next_try, fact)
            elif fact.type == EventType.TURN_STATUS:
                if fact.payload.get("to") == TurnStatus.CANCELLING:
                    next_try.pop(fact.turn, None)
            elif (planned := next_try.pop(fact.turn, fact.at)) > fact.at:
                text = f"Run {fact.run} began at {fact.at}, before the next try at {planned}"
                yield Breach(9, fact.turn, text)


def _plan(next_try: dict[str, datetime], fact: Fact) -> None:
    planned = fact.payload.get("nextTryAt")
    if isinstance(planned, str):
        next_try[fact.turn] = datetime.fromisoformat(planned)
    else:
        next_try.pop(fact.turn, None)


def _number(fact: Fact, name: str) -> int:
    value = fact.payload.get(name)
    return value if isinstance(value, int) else 0


def _charged(batch: Batch) -> Iterator[tuple[str, int]]:
    rows = Turn.objects.filter(batch.within(), policy_retries__isnull=False).order_by("id")
    return rows.values_list("id", "failures").iterator(chunk_size=ROWS)
