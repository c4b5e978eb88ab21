"""The whole fold: all events of a Session, added up, against what its rows say now (I20, R087)."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sessions_app.contract import catalogue
from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.events import EVERYTHING, EventView
from sessions_app.contract.projection import EventProjection
from sessions_app.models import Event, Session
from sessions_app.store import snapshots
from sessions_app.store.invariants.look import BODIES, Look
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.contract.snapshot import Snapshot


def snapshots_agree(look: Look) -> Iterator[Breach]:
    """I20: the events of a Session that was not pruned add up to its snapshot.

    Each has a name of the catalogue and a payload of its form (R096). A gap is for I18 to tell.
    """
    for batch in look.batches:
        for session in Session.objects.filter(batch.within("id"), pruned_through=0):
            told = EventProjection.of(session.key)
            try:
                for event in _events(session):
                    catalogue.check(event.type, event.payload)
                    told.accept(event)
            except CursorExpired:
                continue
            except (catalogue.IllegalEvent, ValidationError) as error:
                yield Breach(20, f"{session.key} {told.sequence + 1}", str(error).splitlines()[0])
                continue
            stored = snapshots.read(session, EVERYTHING)
            for name, unlike in differences(told.snapshot(), stored):
                yield Breach(20, f"{session.key} {name}", unlike)


def differences(told: Snapshot, stored: Snapshot) -> Iterator[tuple[str, str]]:
    """Where two snapshots differ: the record's name, and how."""
    pairs = [("session", told.session, stored.session)]
    for kind in ("threads", "turns", "messages", "tools"):
        left, right = getattr(told, kind), getattr(stored, kind)
        pairs += [(name, left.get(name), right.get(name)) for name in sorted({*left, *right})]
    for name, left, right in pairs:
        if left != right:
            yield name, _how(left, right)


def _how(left: object, right: object) -> str:
    if left is None or right is None:
        return f"stands only in the {'rows' if left is None else 'events'}"
    parts = (each.name for each in fields(left))  # type: ignore[arg-type]  # both are views
    unlike = [name for name in parts if getattr(left, name) != getattr(right, name)]
    return f"its events and its row differ in {', '.join(unlike)}"


def _events(session: Session) -> Iterator[EventView]:
    rows = Event.objects.filter(session=session).order_by("sequence")
    for row in rows.iterator(chunk_size=BODIES):
        yield EventView(
            sequence=row.sequence,
            type=row.type,
            payload=row.payload,
            at=row.at,
            cursor="",
            thread_id=row.thread_id,
            turn_id=row.turn_id,
            run_id=row.run_id,
        )
