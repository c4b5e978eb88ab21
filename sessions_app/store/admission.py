"""Admission: sessions, threads and turns come into being exactly once.

A repeat finds the first receipt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sessions_app.contract.errors import NotFound
from sessions_app.contract.identity import MAIN_THREAD, DefinitionKey, SessionKey, ThreadKey
from sessions_app.contract.policy import SubmitOutcome, SubmitPolicy
from sessions_app.machine import admission, closing, receipts
from sessions_app.models import Command, Session, Thread, Turn
from sessions_app.store import controls, rows
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sessions_app.contract.content import UserInput
    from sessions_app.contract.views import Receipt
    from sessions_app.machine.admission import Limits
    from sessions_app.store.unit import Unit


def create_session(key: SessionKey, definition: DefinitionKey) -> None:
    """Create a Session with its main Thread; an identical create adds nothing (R025, R026)."""

    def body(unit: Unit) -> None:
        session = Session.objects.filter(namespace=key.namespace, session_id=key.session_id).first()
        if session is None:
            session = admission.new_session(unit.change, key)
            unit.adopt(session)
            admission.new_thread(unit.change, session, MAIN_THREAD, definition)
        else:
            admission.same_thread(_thread(unit, session, MAIN_THREAD), definition)

    run("session.create", body)


def create_thread(key: ThreadKey, definition: DefinitionKey) -> None:
    """Create a Thread of an open Session; an identical create adds nothing."""

    def body(unit: Unit) -> None:
        session = unit.lock_session(key.session)
        thread = Thread.objects.filter(session=session, thread_id=key.thread_id).first()
        if thread is None:
            admission.new_thread(unit.change, session, key.thread_id, definition)
        else:
            admission.same_thread(thread, definition)

    run("session.create", body)


def submit(
    key: ThreadKey,
    request_id: str,
    content: UserInput,
    limits: Mapping[DefinitionKey, Limits],
    policy: SubmitPolicy = SubmitPolicy.QUEUE,
) -> Receipt:
    """Admit a Turn, or what the policy comes to; the same request has the same receipt (R030).

    Raises NotFound, Closed, Conflict (the request id was used with other content, or the policy
    rejects) or Unavailable; nothing was written then.
    """

    def body(unit: Unit) -> Receipt:
        session = unit.lock_session(key.session)
        known = Command.objects.filter(session=session, request_id=request_id).first()
        asked = admission.Submission(request_id, content, key.thread_id, policy)
        if known is not None:
            return receipts.known(known, admission.SUBMIT, asked.digest)
        thread = _thread(unit, session, key.thread_id)
        asked = replace(asked, limits=limits.get(thread.pin, admission.Limits()))
        return _admit(unit, session, thread, asked)

    return run("turn.submit", body)


def _admit(unit: Unit, session: Session, thread: Thread, asked: admission.Submission) -> Receipt:
    head = None if asked.policy == SubmitPolicy.QUEUE else rows.head_of(unit, thread, session)
    outcome = admission.course(asked, head)
    if head is None or outcome == SubmitOutcome.QUEUED:
        return admission.submit(unit.change, session, thread, asked)
    unit.change.touch(thread)
    if outcome == SubmitOutcome.STEERED:
        return admission.steer(unit.change, session, head, asked)
    controls.cancel_turn(unit, head, asked.request_id)
    return admission.submit(unit.change, session, thread, asked, replaced=head)


def close_thread(key: ThreadKey) -> None:
    """Close a Thread whose Turns have all ended (R027); closing twice changes nothing."""

    def body(unit: Unit) -> None:
        session = unit.lock_session(key.session)
        thread = _thread(unit, session, key.thread_id)
        unfinished = Turn.objects.filter(thread=thread, finished_at=None).count()
        closing.close_thread(unit.change, thread, unfinished)

    run("session.close", body)


def close_session(key: SessionKey) -> None:
    """Close a Session and its Threads.

    Unfinished work makes it fail and closing cancels nothing (R027).
    """

    def body(unit: Unit) -> None:
        session = unit.lock_session(key)
        threads = unit.watch_all(Thread.objects.filter(session=session).order_by("id"))
        unfinished = Turn.objects.filter(session=session, finished_at=None).count()
        closing.close_session(unit.change, session, threads, unfinished)

    run("session.close", body)


def _thread(unit: Unit, session: Session, thread_id: str) -> Thread:
    thread = Thread.objects.filter(session=session, thread_id=thread_id).first()
    if thread is None:
        msg = f"thread {session.key}/{thread_id} was not found"
        raise NotFound(msg)
    return unit.watch(thread)
