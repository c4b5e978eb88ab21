"""C29: the database has committed and the answer is lost: asked about, never guessed (S7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection, connections

from sessions_app.contract.backend import Committed, Finish
from sessions_app.contract.errors import Unavailable
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Checkpoint, Command, Event, JournalEntry, Turn
from tests.covers import covers, poses
from tests.proxy import Proxy
from tests.stores import FRAME, Store, in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.postgresql


@pytest.fixture
def proxy(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Lead every connection of this process through a proxy, with a Session to submit to."""
    store.session()
    where = connection.settings_dict
    made = Proxy({name: str(where[name]) for name in ("HOST", "PORT")})
    monkeypatch.setitem(where, "HOST", "127.0.0.1")
    monkeypatch.setitem(where, "PORT", str(made.port))
    connections.close_all()
    yield made
    connections.close_all()
    made.close()


@covers("R031")
@poses("C29", "S7")
def test_a_submit_whose_commit_lost_its_answer_gives_its_turn(store: Store, proxy: Proxy) -> None:
    """A fresh connection finds the receipt: one Turn, and the caller hears nothing of it."""
    key = store.session()
    proxy.losses = 1

    turn_id = store.submit(key)

    assert proxy.lost == 1
    assert store.submit(key) == turn_id
    assert (Turn.objects.count(), Command.objects.count()) == (1, 1)


@covers("R031")
@poses("C29")
def test_a_caller_who_gave_up_finds_the_turn_by_the_same_request(
    store: Store, proxy: Proxy
) -> None:
    """Both answers lost: Unavailable. Repeated by two at once and once more, it is one Turn."""
    key = store.session()
    proxy.losses = 2
    with pytest.raises(Unavailable):
        store.submit(key)

    at_once = [in_thread(lambda: store.submit(key)) for _ in range(2)]
    found = {future.result(20) for future in at_once} | {store.submit(key)}

    assert len(found) == 1
    assert Turn.objects.count() == 1


@covers("R138")
@poses("C29", "S7")
def test_an_owner_whose_commit_lost_its_answer_goes_on(store: Store, proxy: Proxy) -> None:
    """The change id says that the change is there: nothing is written twice, nothing is lost."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    proxy.losses = proxy.lost + 1
    store.answered(claim)
    proxy.losses = proxy.lost + 1

    answer = store.commit(claim, Finish(result={"parts": []}), frame=FRAME)

    assert isinstance(answer, Committed)
    assert proxy.lost == proxy.losses
    assert store.turn(turn_id).status == TurnStatus.COMPLETED
    assert (JournalEntry.objects.count(), Checkpoint.objects.count()) == (1, 2)
    sequences = list(Event.objects.order_by("sequence").values_list("sequence", flat=True))
    assert sequences == list(range(1, len(sequences) + 1))
