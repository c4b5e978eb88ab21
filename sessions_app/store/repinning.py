"""Re-pinning a Thread: looked at and changed under its Session's lock (R251, R252)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sessions_app.contract.content import user_input
from sessions_app.contract.errors import NotFound
from sessions_app.contract.versions import RepinView
from sessions_app.machine import repinning
from sessions_app.models import Checkpoint, Thread
from sessions_app.store import native, rows
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Native
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.machine.repinning import Operator, Pinned, Target
    from sessions_app.store.unit import Unit

    TakesUp = Callable[[Native], str | None]

_TO_COME: Final = user_input("The next input is not known yet.").wire()


def repin(
    key: ThreadKey, target: Target, takes_up: TakesUp, operator: Operator | None
) -> RepinView:
    """Move the Thread, or without an operator only say what would stand against it.

    `takes_up` is asked under the lock whether the target's codec can go on from the stored state;
    it computes and waits for nothing. Raises NotFound.
    """

    def body(unit: Unit) -> RepinView:
        found = _found(unit, key)
        before = found.thread.pin
        if before == target.key:
            return RepinView(key, before, target.key, "unchanged")
        state = takes_up(_stored(key, found))
        against = repinning.objections(found, target, state)
        if against:
            return RepinView(key, before, target.key, "refused", against)
        if operator is None:
            return RepinView(key, before, target.key, "possible")
        repinning.repin(unit.change, found, target, operator)
        return RepinView(key, before, target.key, "done")

    return run("thread.repin", body)


def _stored(key: ThreadKey, found: Pinned) -> Native:
    """Native state as the head finds it, or the next Turn."""
    if found.head is not None:
        return native.of_turn(found.thread, key, found.head)
    return replace(native.at_rest(found.thread, key), turn_input=_TO_COME)


def _found(unit: Unit, key: ThreadKey) -> Pinned:
    session = unit.lock_session(key.session)
    thread = Thread.objects.filter(session=session, thread_id=key.thread_id).first()
    if thread is None:
        msg = f"thread {key} was not found"
        raise NotFound(msg)
    head = rows.head_of(unit, unit.watch(thread), session)
    calls = rows.unapplied_calls(unit, head) if head is not None else []
    newest = Checkpoint.objects.filter(thread=thread).order_by("-ordinal").first()
    return repinning.Pinned(thread, head, calls, newest)
