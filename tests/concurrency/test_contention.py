"""Contention: many writers on few Sessions.

With faults of the database put in (C20, C21, C27, C30).
"""

from __future__ import annotations

import random
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.db import OperationalError, models

from hands_app.contract.faults import plan
from sessions_app.contract.errors import Unavailable
from sessions_app.models import Command, Event, Session, Turn
from sessions_app.store.unit import LostRow
from tests.covers import covers, poses
from tests.stores import FRAME, Store, in_thread, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable


def gapless(store: Store) -> None:
    """Sequences of each Session are 1 to n."""
    for session in Session.objects.all():
        found = list(
            Event.objects.filter(session=session)
            .order_by("sequence")
            .values_list("sequence", flat=True)
        )
        assert found == list(range(1, session.last_sequence + 1))


def sometimes(probability: float) -> Callable[[str], None]:
    """A fault action that raises what a serialization failure or a deadlock raises."""
    dice = random.Random(7)  # noqa: S311 - a test's dice
    lock = threading.Lock()

    def refuse(_name: str) -> None:
        with lock:
            hit, kind = dice.random() < probability, dice.choice(["40001", "40P01"])
        if hit:
            cause = psycopg.errors.lookup(kind)("injected")
            msg = "injected"
            raise OperationalError(msg) from cause

    return refuse


@poses("C20")
@pytest.mark.postgresql
@pytest.mark.timeout(120)
def test_serialization_failures_never_reach_a_caller(store: Store) -> None:
    """Fifty parallel submits and events on one Session, three in ten commits refused.

    All are accepted (C20).
    """
    key = store.session()
    store.submit(key, "first")
    claim = store.claim()

    with plan(
        {"turn.submit.before_commit": sometimes(0.3), "brain.commit.before_commit": sometimes(0.3)}
    ):
        work = [in_thread(partial(_patient, store, key, f"r{n}")) for n in range(40)]
        work += [in_thread(lambda: _patient_commit(store, claim)) for _ in range(10)]
        for future in work:
            future.result(90)

    assert Turn.objects.count() == 41
    gapless(store)


def _patient(store: Store, key: Any, request: str) -> None:
    """What a client does with Unavailable: the same request again."""
    for _ in range(30):
        try:
            store.submit(key, request)
        except Unavailable:
            continue
        return
    raise AssertionError(request)


def _patient_commit(store: Store, claim: Any) -> None:
    for _ in range(30):
        try:
            store.commit(claim, frame=FRAME)
        except Unavailable:
            continue
        return
    raise AssertionError(claim)


@poses("C30")
@pytest.mark.timeout(120)
def test_one_request_id_at_the_same_instant_makes_one_turn(store: Store) -> None:
    """Parallel submits of one request get one receipt (C30, I14)."""
    key = store.session()
    for round_ in range(5):
        results = [in_thread(partial(store.submit, key, f"r{round_}")) for _ in range(12)]
        assert len({future.result(60) for future in results}) == 1

    assert Turn.objects.count() == 5
    assert Command.objects.count() == 5
    gapless(store)


@covers("R026")
@pytest.mark.timeout(120)
def test_sessions_created_at_the_same_instant_are_one(store: Store) -> None:
    """Parallel creates of one Session leave one Session and one lifecycle event (R026)."""
    results = [in_thread(lambda: store.session("same")) for _ in range(12)]
    for future in results:
        future.result(60)

    assert Session.objects.count() == 1
    assert Event.objects.filter(type="session.created").count() == 1


@poses("C21")
@pytest.mark.postgresql
@pytest.mark.timeout(120)
def test_bulk_work_against_live_work_never_deadlocks(store: Store) -> None:
    """Claims of batches, submits, commits, scans and renewals in all orders.

    No deadlock, nothing lost (C21).
    """
    keys = [store.session(f"s{number}") for number in range(6)]
    errors: list[str] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)  # noqa: S311 - a test's dice
        for step in range(30):
            key = dice.choice(keys)
            try:
                store.submit(key, f"{seed}-{step}")
                for claim in store.backend.claim(store.host, limit=3):
                    store.backend.renew(store.host.host_id, [(claim.thread_pk, claim.token)])
                    store.answered(claim, tool_intent())
                    store.finish(claim)
                store.backend.scan(store.host, own=False)
            except Unavailable as error:
                if "deadlock" in str(error.__cause__):
                    errors.append(str(error.__cause__))

    for future in [in_thread(partial(work, seed)) for seed in range(6)]:
        future.result(100)

    assert errors == []
    gapless(store)


@poses("C27")
def test_a_guarded_write_that_changed_no_row_is_never_success(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each UPDATE in turn reports zero rows.

    The change fails as a whole and is not acknowledged (C27, I8).
    """
    key = store.session()
    refused = 0
    for number in range(1, 12):
        counted = _zero_at(monkeypatch, number)
        try:
            store.submit(key, f"r{number}")
            store.finish(store.claim())
        except LostRow:
            refused += 1
        else:
            assert counted() < number
        monkeypatch.undo()
        _end_everything(store)
    assert refused >= 4


def _zero_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """Make the `number`-th guarded UPDATE from now on report zero rows."""
    real = models.QuerySet.update
    seen = 0

    def update(rows: models.QuerySet[Any], **columns: Any) -> int:
        nonlocal seen
        if rows.model.__name__ in {"Host", "StoreState"}:
            return real(rows, **columns)
        seen += 1
        return 0 if seen == number else real(rows, **columns)

    monkeypatch.setattr(models.QuerySet, "update", update)
    return lambda: seen


def _end_everything(store: Store) -> None:
    for turn in Turn.objects.filter(finished_at=None).select_related("thread"):
        claims = store.backend.claim(store.host, limit=1)
        for claim in claims:
            store.finish(claim)
        if not claims and turn.thread.lease_token is not None:
            token, run = turn.thread.lease_token, turn.run_id
            from sessions_app.contract.backend import Claim  # noqa: PLC0415 - built by hand here only

            held = Claim(
                turn.thread_id,
                turn.session_id,
                turn.pk,
                str(run),
                token,
                store.session().thread(),
                turn.thread.pin,
                turn.created_at,
                takeover=False,
            )
            store.finish(held)
