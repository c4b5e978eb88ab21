"""Large bodies in each kernel: whole in every prompt and replay, and missed where they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import JournalEntry, ToolCall, Turn
from sessions_app.store.invariants import check
from tests.contracts.harness.house import House, Mortal
from tests.covers import covers, poses
from tests.objects import LARGE, Cellar, cellar

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from tests.contracts.harness.kernels import Kernel
    from tests.stores import Store

__all__ = ["cellar"]

REPLIES = (Reply("", (Call("note", {"text": LARGE}),)), Reply("Done."), Reply("Again."))


@covers("R245")
@pytest.mark.parametrize("death", [1, 2])
async def test_a_replay_finds_every_large_body_whole(
    store: Store, threads: Database, cellar: Cellar, kernel: Kernel, death: int
) -> None:
    """R245: the process dies behind a commit; the next one's prompt has each character of it."""
    house = House(store, kernel, Mortal("after", death), threads, REPLIES)

    await house.complete()

    assert house.deaths == 1
    assert LARGE in str(house.provider.prompts[-1])
    stored = await threads(_references)
    assert stored > 0
    report = await threads(lambda: check(quiet=True))
    assert report.is_clean, "\n".join(map(str, report.breaches))


def _references() -> int:
    entries = JournalEntry.objects.filter(object_ref__isnull=False).count()
    return entries + ToolCall.objects.filter(result_ref__isnull=False).count()


@covers("R245")
@poses("C74")
async def test_a_lost_body_fails_the_turn_and_says_which(
    store: Store, threads: Database, cellar: Cellar, kernel: Kernel
) -> None:
    """C74: nothing runs on half a history, nothing loops for ever, and nothing is written over."""
    house = House(store, kernel, Mortal(), threads, REPLIES)
    first = await house.complete()
    lost = cellar.digests(first.session_id)
    for digest in lost:
        cellar.file(digest).unlink()
    before = await threads(JournalEntry.objects.count)

    turn_id = await threads(store.submit, SessionKey("acme", "chat"), "r2")
    turn = await house.drive(turn_id)

    assert (turn.status, turn.error_code) == (TurnStatus.FAILED, "OBJECT_LOST")
    assert any(digest in str(turn.error_text) for digest in lost)
    assert str(cellar.folder) not in str(turn.error_text)
    assert await threads(JournalEntry.objects.count) == before
    assert await threads(Turn.objects.filter(finished_at=None).count) == 0
