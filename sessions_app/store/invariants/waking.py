"""Waking: the stored `wake_at` of each Thread against the pure function of its rows (S2)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sessions_app.contract.status import SignalStatus, WaitReason
from sessions_app.machine.waking import wake_at
from sessions_app.models import Signal, Thread, ToolCall, Turn
from sessions_app.store.invariants.look import ROWS, Batch, Look
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


def wakes_in_time(look: Look) -> Iterator[Breach]:
    """I41: `wake_at` is what the rows ask for. What is due is due, whenever it was written down."""
    for batch in look.batches:
        heads, calls, inputs = _heads(batch), _calls(batch), _inputs(batch)
        for thread in (
            Thread.objects.filter(batch.within()).order_by("id").iterator(chunk_size=ROWS)
        ):
            head = heads.get(thread.id)
            if head is not None and _waits_for_no_time(head):
                continue  # its wait has no end (I42), so that there is no time to compare with
            key = head.id if head is not None and head.started_at is not None else ""
            asked = wake_at(
                thread, head, calls.get(key, []), open_inputs=key in inputs, now=look.now
            )
            if _due(asked, look) != _due(thread.wake_at, look):
                yield Breach(
                    41, thread.id, f"wakes at {thread.wake_at}, but its rows ask for {asked}"
                )


def _waits_for_no_time(head: Turn) -> bool:
    unplanned = head.retry_at is None and head.wait_deadline is None
    return head.reason == WaitReason.BACKOFF and unplanned


def _due(moment: datetime | None, look: Look) -> datetime | None:
    return moment if moment is None or moment > look.now else look.now


def _heads(batch: Batch) -> dict[str, Turn]:
    """The first unfinished Turn of each Thread, without its bodies."""
    open_turns = Turn.objects.filter(batch.within(), finished_at=None).defer("input", "result")
    return {
        turn.thread_id: turn for turn in open_turns.order_by("-ordinal").iterator(chunk_size=ROWS)
    }


def _calls(batch: Batch) -> dict[str, list[ToolCall]]:
    found: dict[str, list[ToolCall]] = defaultdict(list)
    rows = ToolCall.objects.filter(batch.within(), applied_at=None, turn__finished_at=None)
    bare = rows.defer("arguments", "binding", "result", "progress").order_by("id")
    for call in bare.iterator(chunk_size=ROWS):
        found[call.turn_id].append(call)
    return found


def _inputs(batch: Batch) -> frozenset[str]:
    rows = Signal.objects.filter(batch.within(), status=SignalStatus.PENDING)
    return frozenset(rows.values_list("turn_id", flat=True))
