"""Request ids: one request, one receipt, whoever repeats it and whatever happens meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from hands_app.contract.faults import plan
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import Closed, Conflict, DurableError, NotFound
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.machine.control_table import Operation
from sessions_app.models import Command, Event, Signal, Turn
from sessions_app.store import admission, controls
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.controls.scenes import Subject, brought_to, running, submitted
from tests.integration.runtime.world import everything
from tests.stores import AGENT, Gate, Store, in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.views import Receipt

CALLERS = 8
PARALLEL = 50


def at_once(ask: Callable[[], Receipt]) -> set[Receipt]:
    """Ask fifty times, eight at a time, and give the different receipts."""

    def closing(_number: int) -> Receipt:
        try:
            return ask()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(CALLERS) as callers:
        return set(callers.map(closing, range(PARALLEL)))


@covers("R029", "R030")
@poses("C30")
def test_one_submission_sent_by_many_at_once_is_one_turn(store: Store) -> None:
    """Fifty equal receipts name one Turn, whose status can be asked for."""
    key = store.session().thread()

    receipts = at_once(lambda: admission.submit(key, "r1", user_input("hello"), {}))

    (receipt,) = receipts
    assert store.turn(receipt.turn_id).status == "QUEUED"
    assert (Turn.objects.count(), Command.objects.count()) == (1, 1)


@covers("R046")
@poses("C30")
@pytest.mark.parametrize("operation", [Operation.PAUSE, Operation.CANCEL])
def test_one_control_sent_by_many_at_once_is_one_control(
    store: Store, operation: Operation
) -> None:
    """Fifty equal receipts, one command, one change of status."""
    subject = running(store)
    moves = Event.objects.filter(type="turn.status").count()

    receipts = at_once(lambda: subject.ask(operation))

    assert len(receipts) == 1
    assert Command.objects.filter(operation=operation).count() == 1
    assert Event.objects.filter(type="turn.status").count() == moves + 1


@poses("C30")
@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_a_caller_that_dies_leaves_no_lock_and_no_half(store: Store, point: str) -> None:
    """Before its commit nothing is there, after it everything; the repeat settles which."""
    subject = running(store)
    stuck = Gate()

    def die(name: str) -> None:
        stuck(name)
        if not dead:
            dead.append(name)
            raise SystemExit

    dead: list[str] = []
    with plan({f"turn.control.{point}": die}):
        dying = in_thread(subject.cancel)
        assert stuck.reached.wait(10)
        stuck.open()
        with pytest.raises(SystemExit):
            dying.result(20)
        repeated = in_thread(subject.cancel).result(20)

    assert repeated.outcome == "cancelling"
    assert Command.objects.filter(operation="cancel").count() == 1


@covers("R046")
@pytest.mark.parametrize("operation", Operation)
def test_a_repeat_has_the_same_receipt_after_the_turn_ended(
    store: Store, operation: Operation
) -> None:
    """What was admitted stays admitted; the repeat writes nothing."""
    status = TurnStatus.PAUSED if operation == Operation.RESUME else TurnStatus.WAITING
    subject = brought_to(status, store, asks=operation == Operation.RESPOND)
    revision = subject.row.revision
    first = subject.ask(operation, revision=revision)
    if operation != Operation.CANCEL:
        subject.cancel("end")
    before = everything()

    assert subject.ask(operation, revision=revision) == first
    assert everything() == before


@covers("R030", "R046")
@poses("C31")
def test_a_request_id_has_one_meaning_in_its_session(store: Store) -> None:
    """Another input, target, operation or Thread under it is a conflict that tells nothing."""
    subject = running(store)
    second = store.submit(subject.key, "r2")
    aside = subject.key.session.thread("aside")
    admission.create_thread(aside, AGENT)
    subject.steer("s1", "secret words")
    before = everything()
    others: list[Callable[[], object]] = [
        lambda: subject.steer("s1", "other words"),
        lambda: subject.inject("s1", "secret words"),
        lambda: controls.steer(subject.key, second, "s1", user_input("secret words")),
        lambda: subject.pause("s1"),
        lambda: subject.cancel("r1"),
        lambda: store.submit(subject.key, "s1", "secret words"),
        lambda: subject.steer("r1", "hello"),
        lambda: store.submit(aside, "r1"),
    ]

    for other in others:
        with pytest.raises(Conflict) as refused:
            other()
        assert "secret" not in str(refused.value)

    assert everything() == before


@covers("R046")
@poses("C31")
def test_resume_of_two_revisions_is_two_requests(store: Store) -> None:
    """The revision that was seen is part of the request."""
    subject = submitted(store)
    subject.pause()
    revision = subject.row.revision
    subject.resume("go", revision)

    with pytest.raises(Conflict, match="other content"):
        subject.resume("go", revision + 1)


@poses("C31")
def test_the_scope_of_a_request_id_is_the_session(store: Store) -> None:
    """The same id and words in another Session are another request."""
    first, second = submitted(store), store.session("other").thread()
    other = Subject(store, second, store.submit(second, "r1"))

    one, two = first.steer("s1"), other.steer("s1")

    assert one.turn_id != two.turn_id
    assert Signal.objects.count() == 2
    assert check().is_clean


@poses("C31")
def test_equal_content_is_one_request_however_it_is_spelled(store: Store) -> None:
    """Key order, a default left out, a string for its parts: the same receipt."""
    subject = running(store)
    spelled: list[object] = [
        "in French",
        {"version": "1", "parts": [{"type": "text", "text": "in French"}]},
        {"parts": [{"text": "in French", "type": "text"}]},
    ]

    receipts = {
        controls.steer(subject.key, subject.turn_id, "s1", user_input(each)) for each in spelled
    }

    assert len(receipts) == 1


BAD: dict[str, tuple[type[DurableError], Callable[[Subject], object]]] = {
    "unknown turn": (NotFound, lambda s: controls.pause(s.key, "turn_unknown", "x")),
    "another thread": (
        NotFound,
        lambda s: controls.pause(s.key.session.thread("aside"), s.turn_id, "x"),
    ),
    "foreign session": (
        NotFound,
        lambda s: controls.cancel(SessionKey("evil", "chat").thread(), s.turn_id, "x"),
    ),
    "unknown session": (
        NotFound,
        lambda s: controls.cancel(SessionKey("acme", "nobody").thread(), s.turn_id, "x"),
    ),
    "resume of what is not paused": (Conflict, lambda s: s.resume("x")),
    "ended": (Closed, lambda s: (s.cancel("end"), s.store.fail(s.claim), s.steer("x"))),
}


@covers("R046")
@pytest.mark.parametrize("name", BAD)
def test_a_refused_request_id_stays_free(store: Store, name: str) -> None:
    """The refusal names the thing and what to do, or nothing that is foreign; the id is unused."""
    subject = running(store)
    expected, ask = BAD[name]

    with pytest.raises(DurableError) as refused:
        ask(subject)

    assert type(refused.value) is expected
    assert not Command.objects.filter(request_id="x").exists()
    second = store.submit(subject.key, "r2")
    assert controls.pause(subject.key, second, "x").outcome == "paused"


@covers("R042")
def test_looking_again_after_a_lost_race_admits_nothing(store: Store) -> None:
    """A caller whose control lost to completion re-reads; nothing is submitted by that."""
    subject = running(store)
    store.finish(subject.claim)
    with pytest.raises(Closed, match="has ended and never starts again"):
        subject.pause()
    before = everything()

    assert subject.row.status == "COMPLETED"
    assert everything() == before
