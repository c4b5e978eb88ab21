"""Statuses: the `turn.status` events of each Turn against the legal moves and against its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sessions_app.contract.events import EventType
from sessions_app.contract.status import TERMINAL, TurnStatus
from sessions_app.machine.table import LEGAL
from sessions_app.models import Turn
from sessions_app.store.invariants.look import ROWS, Batch, Look, facts
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Stand:
    """A Turn's status and revision, as its admission or its newest move states them."""

    status: str
    revision: int
    came_from: str | None = None


def terminal_once(look: Look) -> Iterator[Breach]:
    """I1: at most one terminal event, nothing behind it, and the stored status equals it."""
    for batch in look.batches:
        ends: dict[str, str] = {}
        for turn, stand in _stands(batch):
            if turn in ends:
                yield Breach(1, turn, f"moved to {stand.status} after it had ended {ends[turn]}")
            elif stand.status in TERMINAL:
                ends[turn] = stand.status
        for turn, status, _ in _rows(batch):
            if turn in ends and status != ends[turn]:
                yield Breach(1, turn, f"stored as {status}, though an event ended it {ends[turn]}")


def legal_moves(look: Look) -> Iterator[Breach]:
    """I2: each move is in the table, follows on the one before and raises the revision by one."""
    for batch in look.batches:
        last: dict[str, Stand] = {}
        for turn, stand in _stands(batch):
            if stand.came_from is not None:
                yield from _illegal(turn, last.get(turn), stand)
            last[turn] = stand


def _illegal(turn: str, before: Stand | None, stand: Stand) -> Iterator[Breach]:
    if (stand.came_from, stand.status) not in LEGAL:
        yield Breach(2, turn, f"moved from {stand.came_from} to {stand.status}, which is not legal")
    if before is None:  # its earlier moves were pruned
        return
    if before.status != stand.came_from:
        yield Breach(2, turn, f"moved from {stand.came_from}, though it stood at {before.status}")
    if stand.revision != before.revision + 1:
        yield Breach(2, turn, f"revision {stand.revision} follows on {before.revision}")


def folded(look: Look) -> Iterator[Breach]:
    """I20: the status that the events add up to is the stored one."""
    for batch in look.batches:
        told = dict(_stands(batch))
        for turn, status, _ in _rows(batch):
            if turn in told and told[turn].status != status:
                yield Breach(
                    20, turn, f"stored as {status}, but its events end at {told[turn].status}"
                )


def together(look: Look) -> Iterator[Breach]:
    """I21: no change of status without its event, and no event without its change."""
    for batch in look.batches:
        told = dict(_stands(batch))
        for turn, _, revision in _rows(batch):
            stand = told.pop(turn, None)
            if stand is not None and stand.revision != revision:
                text = f"its row is at revision {revision}, its newest event at {stand.revision}"
                yield Breach(21, turn, text)
        for turn in told:
            yield Breach(21, turn, "events tell of it, but there is no such Turn")


def _stands(batch: Batch) -> Iterator[tuple[str, Stand]]:
    """Give (turn, stand) for each admission and each move, in order."""
    for fact in facts(batch, EventType.TURN_ADMITTED, EventType.TURN_STATUS):
        if fact.type == EventType.TURN_ADMITTED:
            yield fact.turn, Stand(TurnStatus.QUEUED, 1)
        else:
            said = fact.payload
            revision = said.get("revision")
            number = revision if isinstance(revision, int) else 0
            yield fact.turn, Stand(str(said.get("to")), number, str(said.get("from")))


def _rows(batch: Batch) -> Iterator[tuple[str, str, int]]:
    """Give (turn, status, revision) as stored."""
    rows = Turn.objects.filter(batch.within()).order_by("id")
    return rows.values_list("id", "status", "revision").iterator(chunk_size=ROWS)
