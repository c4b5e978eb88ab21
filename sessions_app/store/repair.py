"""Repair of a Thread's transcript: read, decide and write in one audited transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import NotFound
from sessions_app.machine import transcript
from sessions_app.models import Checkpoint, Thread
from sessions_app.store import native, rows
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Native
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.machine.transcript import Mending
    from sessions_app.store.unit import Unit


def repair(key: ThreadKey, decide: Callable[[Native], Mending | None]) -> bool:
    """Have `decide` look at the native state, and store what it gives; False for nothing.

    Raises NotFound, and Conflict while the Thread is owned or its first Turn has begun. With
    nothing to store, nothing is written.
    """

    def body(unit: Unit) -> bool:
        session = unit.lock_session(key.session)
        thread = Thread.objects.filter(session=session, thread_id=key.thread_id).first()
        if thread is None:
            msg = f"thread {key} was not found"
            raise NotFound(msg)
        transcript.refuse_busy(thread, rows.head_of(unit, thread, session))
        newest = Checkpoint.objects.filter(thread=thread).order_by("-ordinal").first()
        mending = decide(native.at_rest(thread, key))
        if newest is None or mending is None:
            return False
        transcript.mend(unit.change, unit.watch(thread), newest, mending)
        unit.change.touch(thread)
        return True

    return run("thread.repair", body)
