"""Closing: refused while anything is unsettled, and then it says so once and cancels nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import Park
from sessions_app.contract.errors import Closed, Conflict
from sessions_app.models import Event
from tests.covers import covers
from tests.integration.runtime.world import everything
from tests.stores import AGENT, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.runtime import SessionHandle, TurnHandle
    from tests.stores import Store


def _queued(_store: Store, _turn: TurnHandle) -> None:
    pass


def _running(store: Store, _turn: TurnHandle) -> None:
    store.claim()


def _waiting(store: Store, _turn: TurnHandle) -> None:
    claim = store.claim()
    store.answered(claim, tool_intent(route="hands", start=False))
    store.commit(claim, Park())


def _backing_off(store: Store, _turn: TurnHandle) -> None:
    store.fail(store.claim())


def _paused(_store: Store, turn: TurnHandle) -> None:
    turn.pause("pause")


def _cancelling(store: Store, turn: TurnHandle) -> None:
    _waiting(store, turn)
    turn.cancel("cancel")


UNSETTLED: dict[str, tuple[str, Callable[[Store, TurnHandle], None]]] = {
    "queued": ("QUEUED", _queued),
    "running": ("RUNNING", _running),
    "waiting for a tool": ("WAITING", _waiting),
    "waiting for its next try": ("WAITING", _backing_off),
    "paused": ("PAUSED", _paused),
    "cancelling": ("CANCELLING", _cancelling),
}


@covers("R027")
@pytest.mark.parametrize(("status", "bring"), UNSETTLED.values(), ids=UNSETTLED.keys())
def test_unsettled_work_refuses_a_close(
    session: SessionHandle, store: Store, status: str, bring: Callable[[Store, TurnHandle], None]
) -> None:
    """Whatever it waits for: Thread and Session stay open, and the Turn is as it was."""
    turn = session.submit("r1", "hello")
    bring(store, turn)
    before = everything()

    for close in (session.main.close, session.close):
        with pytest.raises(Conflict, match=r"1 unfinished.*cancel"):
            close()

    assert everything() == before
    assert turn.status().status == status


@covers("R027")
def test_a_thread_may_be_closed_while_another_works(session: SessionHandle) -> None:
    """A Thread's close asks for its own Turns; the Session's asks for all."""
    aside = session.create_thread("aside", AGENT.name)
    session.submit("r1", "hello")

    aside.close()

    with pytest.raises(Conflict):
        session.close()
    assert (aside.view().status, session.view().status) == ("CLOSED", "OPEN")


@covers("R027", "R026", "R086")
def test_a_close_is_told_once(session: SessionHandle, store: Store) -> None:
    """When all has settled it closes; a second close adds no event, and no Turn comes in."""
    session.create_thread("aside", AGENT.name)
    session.submit("r1", "hello")
    store.finish(store.claim())

    for _ in range(2):
        session.close()

    told = Event.objects.filter(type__endswith=".closed").order_by("sequence")
    assert [(event.type, event.thread_id) for event in told] == [
        ("thread.closed", "main"),
        ("thread.closed", "aside"),
        ("session.closed", None),
    ]
    with pytest.raises(Closed):
        session.submit("r2", "hello")


@covers("R026")
def test_a_thread_made_twice_is_one(session: SessionHandle) -> None:
    """The same create finds it, adds no event and starts nothing; another pin is a conflict."""
    first = session.create_thread("aside", AGENT.name)
    before = everything()

    again = session.create_thread("aside", AGENT.name, AGENT.version)

    assert again == first
    assert everything() == before
    with pytest.raises(Conflict, match="pinned to agent@1"):
        session.create_thread("aside", AGENT.name, "0")
    assert everything() == before
