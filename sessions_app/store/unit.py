"""Unit: the rows of one transaction.

It locks, loads, remembers what it loaded and writes what changed.
"""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.conf import settings
from django.db import connection
from django.db.models import Model
from django.utils.module_loading import import_string

from hands_app.contract.faults import faultpoint
from hands_app.contract.ids import new_id
from sessions_app.contract.errors import NotFound
from sessions_app.contract.status import SignalKind, SignalStatus
from sessions_app.machine.change import Change
from sessions_app.machine.waking import wake_at
from sessions_app.models import Event, Run, Session, Signal, Step, Thread, ToolCall, Turn
from sessions_app.store import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from sessions_app.contract.identity import SessionKey

M = TypeVar("M", bound=Model)


class LostRow(Exception):
    """A guarded write changed no row although its Session is locked.

    A bug of ours, nothing is committed (I8).
    """


class Unit:
    """Everything that one change reads and writes."""

    def __init__(self, operation: str) -> None:
        """Begin with nothing loaded."""
        self.operation = operation
        self._sessions: dict[str, Session] = {}
        self._loaded: dict[tuple[type[Model], Any], tuple[Model, dict[str, Any]]] = {}

    @cached_property
    def change(self) -> Change:
        """What decisions leave behind. Its time is read once, after the locks (S18)."""
        return Change(now=clock.now(), new_id=new_id)

    @property
    def now(self) -> datetime:
        """Database time of this change."""
        return self.change.now

    def lock_session(self, where: SessionKey | str) -> Session:
        """Take the Session's lock, by key or primary key; raises NotFound."""
        key = (
            {"pk": where}
            if isinstance(where, str)
            else {"namespace": where.namespace, "session_id": where.session_id}
        )
        session = Session.objects.select_for_update(no_key=True).filter(**key).first()
        if session is None:
            msg = f"session {where} was not found"
            raise NotFound(msg)
        faultpoint(f"{self.operation}.after_lock")
        return self._own(session)

    def lock_free_sessions(self, pks: Iterable[str]) -> list[Session]:
        """Take the locks that nobody holds, in id order; what is held is skipped (S13)."""
        rows = Session.objects.select_for_update(
            no_key=True, skip_locked=connection.features.has_select_for_update_skip_locked
        )
        sessions = [self._own(session) for session in rows.filter(pk__in=list(pks)).order_by("pk")]
        faultpoint(f"{self.operation}.after_lock")
        return sessions

    def _own(self, session: Session) -> Session:
        self._sessions[session.pk] = session
        return self.watch(session)

    def watch(self, row: M) -> M:
        """Remember a loaded row, so that what a decision changes in it is written.

        The same row is one object.
        """
        key = (type(row), row.pk)
        if key in self._loaded:
            known = self._loaded[key][0]
            return cast("M", known)
        self._loaded[key] = (row, _columns(row))
        return row

    def watch_all(self, rows: Iterable[M]) -> list[M]:
        """`watch` for many."""
        return [self.watch(row) for row in rows]

    def adopt(self, session: Session) -> None:
        """Number the events of a Session that this change creates."""
        self._sessions[session.pk] = session

    def write(self) -> None:
        """Number the events, ask the commit policy, insert, update what changed.

        Recompute `wake_at` (S2).
        """
        if not (self._sessions or self._loaded or ("change" in vars(self) and self.change.rows)):
            return
        events = self._numbered()
        _policy(self.change.rows, events)
        # Updates first: a Step or Run is closed before the next one opens.
        for row, before in sorted(self._loaded.values(), key=lambda pair: _rank(pair[0])):
            if not isinstance(row, Thread):
                _update(row, before)
        for kind, rows in groupby(sorted(self.change.rows, key=_rank), key=_kind):
            kind._base_manager.bulk_create(list(rows))
        Event.objects.bulk_create(events)
        self._wake()

    def due(self) -> Iterator[Thread]:
        """Threads that should be looked at now."""
        for thread in self.change.touched.values() if self._sessions else ():
            if (
                thread.wake_at is not None
                and thread.wake_at <= self.now
                and thread.lease_token is None
            ):
                yield thread

    def sends(self) -> bool:
        """Whether a call comes into the outbox with this change."""
        if any(isinstance(row, ToolCall) and row.deliver_at for row in self.change.rows):
            return True
        return any(
            isinstance(row, ToolCall) and row.deliver_at and before["deliver_at"] is None
            for row, before in self._loaded.values()
        )

    def _numbered(self) -> list[Event]:
        events = []
        for session_pk, draft in self.change.events:
            session = self._sessions[session_pk]
            session.last_sequence += 1
            events.append(
                Event(
                    session_id=session_pk,
                    sequence=session.last_sequence,
                    type=draft.type.value,
                    thread_id=draft.thread_id,
                    turn_id=draft.turn_id,
                    run_id=draft.run_id,
                    payload=draft.payload,
                    at=self.now,
                )
            )
        return events

    def _wake(self) -> None:
        """Threads last: their `wake_at` follows from the rows as written."""
        created = {row.pk for row in self.change.rows if isinstance(row, Thread)}
        for thread in self.change.touched.values():
            self._wake_one(thread)
            if thread.pk in created:
                _guarded(thread, {"wake_at": thread.wake_at})
        for row, before in list(self._loaded.values()):
            if isinstance(row, Thread):
                _update(row, before)

    def _wake_one(self, thread: Thread) -> None:
        if thread.lease_expires_at is not None:
            thread.wake_at = thread.lease_expires_at
            return
        head = Turn.objects.filter(thread=thread, finished_at=None).order_by("ordinal").first()
        calls: list[ToolCall] = []
        inputs = False
        if head is not None and head.started_at is not None:
            calls = list(ToolCall.objects.filter(turn=head, applied_at=None))
            pending = Signal.objects.filter(turn=head, status=SignalStatus.PENDING)
            inputs = pending.exclude(kind=SignalKind.INJECT).exists()
        thread.wake_at = wake_at(thread, head, calls, open_inputs=inputs, now=self.now)


_ORDER = (Session, Thread, Turn, Run, Step, ToolCall)


def _kind(row: Model) -> type[Model]:
    return type(row)


def _rank(row: Model) -> int:
    """Lock order, which is also the order that foreign keys ask for."""
    return (
        _ORDER.index(type(row))
        if type(row) in _ORDER
        else len(_ORDER) + _KINDS.setdefault(type(row), len(_KINDS))
    )


_KINDS: dict[type[Model], int] = {}


def _columns(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _update(row: Model, before: dict[str, Any]) -> None:
    changed = {name: value for name, value in _columns(row).items() if value != before[name]}
    if changed:
        _guarded(row, changed)


def _guarded(row: Model, columns: dict[str, Any]) -> None:
    """Write the changed columns and look at the row count: zero rows is never success (C27)."""
    count = type(row)._base_manager.filter(pk=row.pk).update(**columns)
    if count != 1:
        msg = f"{type(row).__name__} {row.pk}: {count} rows changed instead of one"
        raise LostRow(msg)


def _policy(rows: list[Model], events: list[Event]) -> None:
    """The host's commit policy sees the records inside the transaction.

    It calls nothing outside (R247).
    """
    dotted = settings.DURABLE["COMMIT_POLICY"]
    if dotted:
        import_string(dotted)(tuple(rows), tuple(events))
