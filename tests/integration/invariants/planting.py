"""Planting: breaches in real rows, past the guards of the database where it has some."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from django.db import IntegrityError, connection, transaction

from sessions_app.models import Event, Session
from sessions_app.store.invariants import check
from tests.databases import empty_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from django.db.models import Model

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.events import EventType
    from sessions_app.models import Turn


def breached(
    *, quiet: bool = False, oracle: Path | None = None, prompts: Path | None = None
) -> dict[int, list[str]]:
    """Give the lines of a check by the number of their invariant."""
    lines: dict[int, list[str]] = {}
    for breach in check(quiet=quiet, oracle=oracle, prompts=prompts).breaches:
        lines.setdefault(breach.number, []).append(str(breach))
    return lines


@contextmanager
def refused() -> Iterator[None]:
    """Expect the database itself to refuse what the block writes."""
    with pytest.raises(IntegrityError), transaction.atomic():
        yield


@contextmanager
def unguarded(model: type[Model], name: str) -> Iterator[None]:
    """Take one constraint away for the block; it comes back over empty tables."""
    meta = model._meta
    kept = list(meta.constraints)
    guard = next(constraint for constraint in kept if constraint.name == name)
    meta.constraints = [constraint for constraint in kept if constraint is not guard]
    with connection.schema_editor() as editor:
        editor.remove_constraint(model, guard)
    try:
        yield
    finally:
        empty_tables()
        meta.constraints = kept
        with connection.schema_editor() as editor:
            editor.add_constraint(model, guard)


def told(
    turn: Turn, type_: EventType, payload: dict[str, JsonValue], run: str | None = None
) -> Event:
    """Add an event about a Turn to the end of its Session's timeline."""
    session = Session.objects.get(id=turn.session_id)
    newest = Event.objects.filter(session=session).order_by("-sequence")[0]
    event = Event.objects.create(
        session=session,
        sequence=newest.sequence + 1,
        type=type_,
        thread_id="main",
        turn_id=turn.id,
        run_id=run,
        payload=payload,
        at=newest.at,
    )
    Session.objects.filter(id=session.id).update(last_sequence=event.sequence)
    return event


def retold(event: Event, **changes: object) -> None:
    """Put a changed event in the place of one; changing it where it stands is refused."""
    Event.objects.filter(id=event.id).delete()
    event.pk = None
    for name, value in changes.items():
        setattr(event, name, value)
    event.save(force_insert=True)


def newest(turn: Turn, type_: EventType) -> Event:
    """Give the newest event of a type about a Turn."""
    return Event.objects.filter(turn_id=turn.id, type=type_).order_by("-sequence")[0]
