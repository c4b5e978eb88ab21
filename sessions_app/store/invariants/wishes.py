"""Wishes: what may happen to a Turn between a pause and its resume, and after a cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.events import EventType
from sessions_app.contract.status import TurnStatus
from sessions_app.machine.control_table import Operation
from sessions_app.machine.receipts import command_digest
from sessions_app.models import Command
from sessions_app.store.invariants.look import BODIES, Batch, Fact, Look, facts
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGINS: Final = (EventType.RUN_STARTED, EventType.TOOL_REQUESTED)


def nothing_while_paused(look: Look) -> Iterator[Breach]:
    """I11: no Run and no intent of a PAUSED Turn."""
    for batch in look.batches:
        for fact, status in _with_status(batch):
            if fact.type in _BEGINS and status == TurnStatus.PAUSED:
                yield Breach(11, fact.turn, f"event {fact.sequence} is {fact.type} while PAUSED")


def nothing_after_a_cancel(look: Look) -> Iterator[Breach]:
    """I13: no intent after the cancel was recorded, and never COMPLETED."""
    for batch in look.batches:
        cancelled: set[str] = set()
        for fact, status in _with_status(batch):
            if status == TurnStatus.CANCELLING:
                cancelled.add(fact.turn)
            if fact.turn not in cancelled:
                continue
            if fact.type == EventType.TOOL_REQUESTED:
                yield Breach(13, fact.turn, f"event {fact.sequence} asks for a tool after a cancel")
            if status == TurnStatus.COMPLETED:
                yield Breach(13, fact.turn, "COMPLETED after a cancel was recorded")


def resumed_what_was_seen(look: Look) -> Iterator[Breach]:
    """I12: a resume named the revision of the PAUSED state that it ended."""
    for batch in look.batches:
        moves = {
            (fact.session, fact.sequence): fact
            for fact in facts(batch, EventType.TURN_STATUS)
            if fact.payload.get("from") == TurnStatus.PAUSED
        }
        for session, request, sequence, digest in _resumes(batch):
            move = moves.get((session, sequence))
            if move is not None and digest != _resume_digest(move):
                yield Breach(12, move.turn, f"resumed by {request}, which saw another revision")


def _with_status(batch: Batch) -> Iterator[tuple[Fact, str]]:
    """Give each event with the status that its Turn has from then on."""
    status: dict[str, str] = {}
    for fact in facts(batch, EventType.TURN_STATUS, *_BEGINS):
        if fact.type == EventType.TURN_STATUS:
            status[fact.turn] = str(fact.payload.get("to"))
        yield fact, status.get(fact.turn, TurnStatus.QUEUED)


def _resumes(batch: Batch) -> Iterator[tuple[str, str, int, str]]:
    rows = Command.objects.filter(batch.within(), operation=Operation.RESUME).order_by("id")
    columns = rows.values_list("session_id", "request_id", "receipt", "digest")
    for session, request, receipt, digest in columns.iterator(chunk_size=BODIES):
        yield session, request, receipt["sequence"], digest


def _resume_digest(move: Fact) -> str:
    revision = move.payload.get("revision")
    seen = revision - 1 if isinstance(revision, int) else 0
    target = f"{move.thread}/{move.turn}"
    return command_digest(Operation.RESUME, target, {"expectedRevision": seen})
