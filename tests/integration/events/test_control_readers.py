"""Store rules S19 and S23, each held for every control: no reader sees a gap or a half of one."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction

from hands_app.contract.faults import plan
from hands_app.contract.ids import new_id
from sessions_app.contract.errors import CursorExpired
from sessions_app.contract.projection import EventProjection
from sessions_app.machine.control_table import Operation
from sessions_app.machine.retention import Keep
from sessions_app.models import Event, Session, StoreState
from sessions_app.store import retention, snapshots, timeline
from tests.covers import poses
from tests.integration.controls.scenes import Subject, awaiting
from tests.stores import Gate, in_thread, wait_until_blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.stores import Store

ALL = pytest.mark.parametrize("operation", Operation)


def _open_to(operation: Operation, store: Store) -> Subject:
    """Give a Turn of which it may be asked."""
    subject = awaiting(store, operation)
    if operation == Operation.RESUME:
        subject.pause()
    return subject


@contextmanager
def _meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Let another connection act as soon as a read has read the Session's row."""
    done: list[object] = []

    def act_after(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        answer = execute(sql, params, many, context)
        if f'FROM "{Session._meta.db_table}"' in sql and not done:
            done.append(sql)
            in_thread(act).result(20)
        return answer

    with connection.execute_wrapper(act_after):
        yield
    assert done


@poses("S19")
@ALL
def test_s19_a_control_during_a_snapshot_is_wholly_behind_it(
    store: Store, operation: Operation
) -> None:
    """Nothing of it is in any part, and the events behind the cursor bring all of it.

    A withdrawal alone shows in nothing but the sequence: a public message is not taken back.
    """
    subject = _open_to(operation, store)
    key, revision = subject.key.session, subject.row.revision
    before = snapshots.snapshot(key)

    with _meanwhile(lambda: subject.ask(operation, revision=revision)):
        taken = snapshots.snapshot(key)

    assert taken == before
    projection = EventProjection(taken)
    projection.accept_page(timeline.events(key, taken.cursor))
    now = snapshots.snapshot(key)
    assert projection.snapshot() == now
    assert now.last_sequence > before.last_sequence


@poses("S19")
@ALL
def test_s19_a_control_and_a_prune_during_a_page_leave_it_whole(
    store: Store, operation: Operation
) -> None:
    """The page is of the moment before both, and its cursor says that what follows has gone."""
    subject = _open_to(operation, store)
    key = subject.key.session
    retention.retain(key, Keep(events=0))
    newest = Session.objects.get().last_sequence

    def ask_and_prune() -> None:
        subject.ask(operation)
        retention.prune(key)

    with _meanwhile(ask_and_prune):
        page = timeline.events(key)

    assert [event.sequence for event in page.items] == list(range(1, newest + 1))
    assert page.through == page.last_sequence == newest
    assert not Event.objects.exists()
    with pytest.raises(CursorExpired):
        timeline.events(key, page.next_cursor)


@poses("S19")
@ALL
def test_s19_pruning_beside_a_control_takes_all_of_it_or_nothing(
    store: Store, operation: Operation
) -> None:
    """It waits for the Session's lock, so that floor and newest sequence are of one change."""
    subject = _open_to(operation, store)
    key = subject.key.session
    retention.retain(key, Keep(events=0))
    gate = Gate()

    with plan({"turn.control.before_commit": gate}):
        asking = in_thread(lambda: subject.ask(operation))
        assert gate.reached.wait(20)
        pruning = in_thread(lambda: retention.prune(key))
        wait_until_blocked(pruning)
        gate.open()
        receipt, pruned = asking.result(20), pruning.result(20)

    assert pruned.pruned_through == pruned.last_sequence >= receipt.sequence
    assert not Event.objects.exists()


@poses("S23")
@ALL
def test_s23_a_cursor_from_before_a_restore_expires_whatever_is_asked(
    store: Store, operation: Operation
) -> None:
    """The control it had read was lost with the tail; asked again it has the same sequences."""
    subject = _open_to(operation, store)
    key, revision = subject.key.session, subject.row.revision
    behind = timeline.events(key)
    with suppress(RuntimeError), transaction.atomic():
        subject.ask(operation, revision=revision)
        lost = timeline.events(key)
        raise RuntimeError
    StoreState.objects.update(incarnation=new_id("inc_"))

    subject.ask(operation, revision=revision)

    assert timeline.events(key).through == lost.through
    for old in (behind, lost):
        with pytest.raises(CursorExpired, match="take a snapshot"):
            timeline.events(key, old.next_cursor)
    assert timeline.events(key, snapshots.snapshot(key).cursor).items == ()
