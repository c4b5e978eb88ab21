"""Purging: a closed Session goes as a whole, and a marker with an audit entry stays (T49, C40).

What it has outside goes first, since the ids of its executions go with its rows: a purge that broke
off is begun again and finds the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import router
from django.utils.module_loading import import_string

from hands_app.contract.ids import new_id
from sessions_app.contract.errors import Conflict
from sessions_app.contract.status import Lifecycle
from sessions_app.models import (
    AuditEntry,
    Checkpoint,
    Command,
    Event,
    Interaction,
    JournalEntry,
    Message,
    ModelCall,
    OutputQuestion,
    PurgeMarker,
    Run,
    Session,
    Signal,
    StandingRule,
    Step,
    Thread,
    ToolCall,
    Turn,
    Wait,
    WorkspaceEntry,
)
from sessions_app.store import looking, reads, roles
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from django.db.models import Model, QuerySet

    from sessions_app.contract.identity import SessionKey
    from sessions_app.ports import Outside
    from sessions_app.store.unit import Unit

ACTION: Final = "session.purge"
OF_A_SESSION: Final[Mapping[type[Model], str]] = {
    AuditEntry: "session",
    Wait: "session",
    Signal: "session",
    Interaction: "session",
    StandingRule: "session",
    Command: "session",
    Message: "session",
    Event: "session",
    ModelCall: "turn__session",
    Step: "turn__session",
    OutputQuestion: "session",
    ToolCall: "session",
    Checkpoint: "session",
    JournalEntry: "session",
    Run: "session",
    Turn: "session",
    Thread: "session",
    WorkspaceEntry: "session",
    Session: "pk",
}
"""Every table with rows of a Session, and the way to it."""


@dataclass(frozen=True, slots=True)
class Purge:
    """What belongs to a Session: rows by table, and what it has outside of the database."""

    key: SessionKey
    rows: dict[str, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)


def plan(key: SessionKey) -> Purge:
    """What `purge` would take away. Raises NotFound, and Conflict for an open Session."""
    session, executions = _look(key)
    rows = {_name(found): found.count() for found in _rows(session)}
    return Purge(key, rows, _outside("count", session, executions))


def purge(key: SessionKey, *, actor: str, reason: str) -> Purge:
    """Delete a closed Session with everything that belongs to it; its key is free again.

    Raises NotFound, Conflict for one that is open or has a call that still runs, Unavailable, and
    Forbidden where the database's role may not delete events.
    """
    session, executions = _look(key)
    outside = _outside("remove", session, executions)

    def body(unit: Unit) -> Purge:
        _refuse_open(unit.lock_session(session.pk))
        done = Purge(key, {_name(rows): _delete(rows) for rows in _rows(session)}, outside)
        _mark(unit, session, done, actor, reason)
        return done

    with roles.deleting():
        return run("session.purge", body)


@looking.look
def _look(key: SessionKey) -> tuple[Session, list[str]]:
    """The Session, and those of its calls that a ledger may know."""
    session = reads.session_row(key)
    _refuse_open(session)
    calls = ToolCall.objects.filter(session=session).exclude(route__in=["local", "manual"])
    return session, list(calls.values_list("pk", flat=True))


def _refuse_open(session: Session) -> None:
    if session.status != Lifecycle.CLOSED:
        msg = f"session {session.key} is open; close it before it is purged"
        raise Conflict(msg)


def _rows(session: Session) -> Iterator[QuerySet[Any]]:
    for model, way in OF_A_SESSION.items():
        yield model._base_manager.filter(**{way: session.pk})


def _delete(rows: QuerySet[Any]) -> int:
    """Delete without loading; foreign keys are looked at when the transaction ends."""
    return rows._raw_delete(router.db_for_write(rows.model))  # noqa: SLF001 - Django's way to delete without a collector


def _mark(unit: Unit, session: Session, done: Purge, actor: str, reason: str) -> None:
    """Leave what says that it was there: no content, and not the Session's key as a reference."""
    removed = {**done.rows, **done.outside}
    unit.change.add(
        PurgeMarker(
            id=new_id("prg_"),
            namespace=session.namespace,
            session_id=session.session_id,
            actor=actor,
            reason=reason,
            removed=removed,
            at=unit.now,
        ),
        AuditEntry(
            id=new_id("aud_"),
            actor=actor,
            action=ACTION,
            target=session.pk,
            reason=reason,
            before={"namespace": session.namespace, "sessionId": session.session_id},
            after={"removed": removed},
            at=unit.now,
        ),
    )


def _outside(what: str, session: Session, executions: list[str]) -> dict[str, int]:
    """Ask each store outside of the database, `count` or `remove`."""
    found: dict[str, int] = {}
    for dotted in settings.DURABLE["OUTSIDE"]:
        store: Outside = import_string(dotted)()
        found |= getattr(store, what)(session.pk, executions)
    return found


def _name(rows: QuerySet[Any]) -> str:
    return str(rows.model._meta.verbose_name_plural)
