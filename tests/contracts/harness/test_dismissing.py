"""A question that is dismissed takes nothing of the conversation with it (C37)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import Checkpoint
from sessions_app.store import admission, asked, controls, interactions, reads
from sessions_app.store.backend import StoreBackend
from tests.contracts.harness.house import House
from tests.covers import poses

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from tests.contracts.harness.kernels import Kernel
    from tests.stores import Store

REPLIES = (
    Reply("Hello."),
    Reply("", (Call("send_email", {"to": "a"}),)),
    Reply("Then not."),
    Reply("As you like."),
)
KEY = SessionKey("acme", "chat").thread()


def dismiss(turn_id: str, how: str) -> None:
    """Say no, or end the Turn that asks."""
    if how == "cancel":
        controls.cancel(KEY, turn_id, "stop")
        return
    (view,) = asked.pending(turn_id).items
    interactions.respond(KEY, turn_id, "no", view.interaction_id, response=False)


@poses("C37")
@pytest.mark.parametrize("how", ["deny", "cancel"])
async def test_a_dismissed_question_keeps_the_history(
    store: Store, kernel: Kernel, threads: Database, how: str
) -> None:
    """What was said before is said again to the model, with the new facts behind it."""
    house = House(store, kernel, StoreBackend("build-1"), threads, REPLIES)
    await house.complete("r1", "hello")
    asks = await house.submit("r2", "mail a")
    await house.drive(asks)
    before = house.provider.prompts[-1]

    await threads(dismiss, asks, how)
    ended = await house.drive(asks)
    await house.complete("r3", "go on")

    assert ended.status == (TurnStatus.CANCELLED if how == "cancel" else TurnStatus.COMPLETED)
    assert house.provider.prompts[-1][: len(before)] == before
    assert [m["role"] for m in house.provider.prompts[-1][len(before) :]][:2] == [
        "assistant",
        "tool",
    ]
    said = await threads(lambda: reads.messages(KEY).items)
    await threads(admission.close_session, KEY.session)
    assert await threads(lambda: reads.messages(KEY).items) == said
    bodies = await threads(lambda: list(Checkpoint.objects.values_list("body", flat=True)))
    assert all(bodies)
