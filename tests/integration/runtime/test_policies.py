"""Submit policies: what a submission means while a Turn of its Thread is unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Conflict, Invalid
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Event, Message, Signal, Turn
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.runtime.world import everything

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.runtime import SessionHandle, TurnHandle
    from tests.stores import Store


def _outcome(turn: TurnHandle) -> tuple[str, str | None]:
    """What the receipt of this submission says."""
    assert turn.receipt is not None
    assert turn.receipt.turn_id == turn.turn_id
    return turn.receipt.outcome, turn.receipt.subject


@pytest.mark.parametrize("policy", SubmitPolicy)
def test_any_policy_queues_where_nothing_is_unfinished(
    session: SessionHandle, store: Store, policy: SubmitPolicy
) -> None:
    """A Thread whose Turns have ended takes a new Turn, whatever was asked for."""
    session.submit("r1", "first")
    store.finish(store.claim())

    turn = session.submit("r2", "second", policy)

    assert _outcome(turn) == ("queued", None)
    assert turn.status().status == TurnStatus.QUEUED


def test_queue_waits_behind_all_others(session: SessionHandle, store: Store) -> None:
    """The default: the order of admission is the order of execution."""
    first = session.submit("r1", "first")
    store.claim()

    second = session.submit("r2", "second")

    assert _outcome(second) == ("queued", None)
    assert second.turn_id != first.turn_id


@covers("R038")
def test_steer_goes_into_the_turn_that_has_begun(session: SessionHandle, store: Store) -> None:
    """No Turn is made; the words are a public message of the Turn that the receipt names."""
    first = session.submit("r1", "first")
    store.claim()

    second = session.submit("r2", "in French", "steer")

    signal = Signal.objects.get()
    assert second == first
    assert _outcome(second) == ("steered", signal.pk)
    assert Turn.objects.count() == 1
    said = Message.objects.get(request_id="r2")
    assert (said.turn_id, said.input_kind) == (first.turn_id, "steer")
    assert check().is_clean


def _queued_head(_session: SessionHandle, _store: Store) -> None:
    """The first Turn was not begun."""


def _cancelled_head(session: SessionHandle, store: Store) -> None:
    store.claim()
    session.get_turn(Turn.objects.get().pk).cancel("c1")


@pytest.mark.parametrize("prepare", [_queued_head, _cancelled_head])
def test_steer_makes_a_turn_where_none_takes_it(
    session: SessionHandle, store: Store, prepare: Callable[[SessionHandle, Store], None]
) -> None:
    """A Turn that has not begun, or is being cancelled, is not steered."""
    session.submit("r1", "first")
    prepare(session, store)

    second = session.submit("r2", "second", "steer")

    assert _outcome(second) == ("queued", None)
    assert Turn.objects.count() == 2


@covers("R044")
def test_replace_cancels_the_head_alone(session: SessionHandle, store: Store) -> None:
    """What is queued behind it stays and comes before the new Turn."""
    first, second = session.submit("r1", "first"), session.submit("r2", "second")
    store.claim()

    third = session.submit("r3", "third", "replace")

    assert _outcome(third) == ("replaced", first.turn_id)
    assert first.status().status == TurnStatus.CANCELLING
    assert second.status().status == TurnStatus.QUEUED
    ordered = [view.turn_id for view in session.main.list_turns().items]
    assert ordered == [first.turn_id, second.turn_id, third.turn_id]
    assert check().is_clean


def test_replace_of_a_turn_that_was_not_begun_leaves_the_new_one_ready(
    session: SessionHandle, store: Store
) -> None:
    """The cancelled one ends at once, and the next claim takes the new one (S2)."""
    first = session.submit("r1", "first")

    second = session.submit("r2", "second", "replace")

    assert first.status().status == TurnStatus.CANCELLED
    assert store.claim().turn_id == second.turn_id


def test_a_head_that_is_being_cancelled_is_not_replaced_twice(
    session: SessionHandle, store: Store
) -> None:
    """There is nothing to replace, and the receipt says so."""
    session.submit("r1", "first")
    store.claim()
    session.submit("r2", "second", "replace")

    third = session.submit("r3", "third", "replace")

    assert _outcome(third) == ("queued", None)


def test_reject_refuses_while_a_turn_is_unfinished(session: SessionHandle, store: Store) -> None:
    """Nothing is written and the request id stays free for later."""
    first = session.submit("r1", "first")
    before = everything()

    with pytest.raises(Conflict, match=first.turn_id):
        session.submit("r2", "second", "reject")

    assert everything() == before
    store.finish(store.claim())
    assert _outcome(session.submit("r2", "second", "reject")) == ("queued", None)


@covers("R030")
@poses("C31")
def test_the_policy_is_part_of_the_request(session: SessionHandle, store: Store) -> None:
    """The same words under another policy are another request."""
    session.submit("r1", "first")
    store.claim()
    session.submit("r2", "second", "steer")
    before = everything()

    for other in ("queue", "replace", "reject"):
        with pytest.raises(Conflict, match="other content"):
            session.submit("r2", "second", other)

    assert everything() == before


@pytest.mark.parametrize("policy", ["steer", "replace"])
def test_a_repeat_has_the_first_receipt_whatever_came_since(
    session: SessionHandle, store: Store, policy: str
) -> None:
    """The policy is decided once."""
    session.submit("r1", "first")
    store.claim()
    first = session.submit("r2", "second", policy)
    session.main.get_turn(Turn.objects.order_by("ordinal")[0].pk).cancel("c1")
    events = Event.objects.count()

    again = session.submit("r2", "second", policy)

    assert again.receipt == first.receipt
    assert Event.objects.count() == events


@pytest.mark.parametrize("policy", ["", "Queue", "interrupt", None, 7])
def test_an_unknown_policy_is_invalid(session: SessionHandle, policy: object) -> None:
    """The message names the policies there are; nothing is written."""
    before = everything()

    with pytest.raises(Invalid, match="queue, steer, replace, reject"):
        session.submit("r1", "first", policy)  # type: ignore[arg-type]  # what callers may give

    assert everything() == before


async def test_call_and_twins_take_the_policy(session: SessionHandle, store: Store) -> None:
    """Every way to submit knows it."""
    await session.asubmit("r1", "first")

    with pytest.raises(Conflict):
        await session.acall("r2", "second", 1.0, "reject")
    with pytest.raises(Conflict):
        await session.main.asubmit("r3", "third", "reject")
