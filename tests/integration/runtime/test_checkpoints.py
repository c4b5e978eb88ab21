"""Checkpoints as readers see them: where a Thread can go on from, and nothing of what it holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Invalid
from tests.covers import covers
from tests.stores import AGENT

if TYPE_CHECKING:
    from sessions_app.runtime import SessionHandle
    from tests.stores import Store


def _finished(session: SessionHandle, store: Store, turns: int) -> None:
    for number in range(turns):
        session.submit(f"r{number}", "hello")
        claim = store.claim()
        store.answered(claim)
        store.finish(claim)


@covers("R019")
def test_checkpoints_are_listed_page_by_page(session: SessionHandle, store: Store) -> None:
    """Oldest first, each once, with position and kind; the newest is where the Thread stands."""
    _finished(session, store, 2)

    first = session.main.checkpoints(limit=3)
    rest = session.main.checkpoints(first.next_cursor, limit=3)

    seen = [*first.items, *rest.items]
    assert [view.ordinal for view in seen] == [1, 2, 3, 4]
    assert [view.kind for view in seen] == ["BOUNDARY", "SETTLED"] * 2
    assert [view.position for view in seen] == [1, 1, 2, 2]
    assert {view.definition for view in seen} == {AGENT}
    assert rest.next_cursor is None


@covers("R019", "R088")
def test_a_listed_checkpoint_shows_nothing_of_its_body(
    session: SessionHandle, store: Store
) -> None:
    """Native state stays private: no member of the view holds it."""
    _finished(session, store, 1)

    (view, _) = session.main.checkpoints().items

    assert not {"body", "digest", "token", "object_ref"} & asdict(view).keys()
    assert "rounds" not in str(asdict(view))


def test_a_cursor_of_another_list_is_refused(session: SessionHandle, store: Store) -> None:
    """It would skip what was never seen."""
    _finished(session, store, 2)
    turns = session.main.list_turns(limit=1).next_cursor

    with pytest.raises(Invalid, match="cursor"):
        session.main.checkpoints(turns)


def test_threads_have_checkpoints_of_their_own(session: SessionHandle, store: Store) -> None:
    """What one Thread stored is no place for another to go on from (R055)."""
    aside = session.create_thread("aside", AGENT.name)
    _finished(session, store, 1)

    assert aside.checkpoints().items == ()
