"""A conversation that waits for a person is ended, and keeps all that was said (C37)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.errors import Conflict
from sessions_app.contract.identity import SessionKey
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import Interaction, JournalEntry, Message
from sessions_app.store import admission, controls, interactions
from sessions_app.store.backend import StoreBackend
from tests.contracts.harness.house import House
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.covers import covers, poses

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.brain.database import Database
    from sessions_app.contract.status import TurnStatus
    from tests.stores import Store

KEY: Final = SessionKey("acme", "chat").thread()
REPLIES: Final = (
    Reply("first answer"),
    Reply("may I?", (Call("send_email", {"to": "a@b"}),)),
    *[Reply("what else?")] * 3,
)


def _cancels(turn_id: str) -> object:
    return controls.cancel(KEY, turn_id, "c1")


def _denies(turn_id: str) -> object:
    asked = Interaction.objects.get(turn=turn_id)
    return interactions.respond(KEY, turn_id, "a1", asked.id, response=False)


def _kept() -> tuple[list[object], list[object]]:
    """All that was said in public, and all of the native state, in order."""
    said = Message.objects.order_by("sequence").values_list("id", "role", "parts")
    native = JournalEntry.objects.order_by("position").values_list("position", "kind", "body")
    return list(map(str, said)), list(map(str, native))


@poses("C37")
@covers("R027")
@pytest.mark.parametrize(("dismiss", "ends"), [(_cancels, "CANCELLED"), (_denies, "COMPLETED")])
@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.id)
async def test_a_dismissed_question_wipes_nothing(
    store: Store,
    threads: Database,
    kernel: Kernel,
    dismiss: Callable[[str], object],
    ends: TurnStatus,
) -> None:
    """Cancelled or denied by a process without any agent: history only grows, and is asked from.

    While the question is open neither Thread nor Session closes; afterwards both do.
    """
    house = House(store, kernel, StoreBackend("build-1"), threads, REPLIES)
    await house.complete("r1", "hello")
    turn = await house.drive(await house.submit("r2", "write to them"))
    before = await threads(_kept)
    assert turn.status == "WAITING"
    with pytest.raises(Conflict, match="unfinished"):
        await threads(admission.close_thread, KEY)

    await threads(dismiss, turn.id)
    ended = await house.drive(turn.id)

    after = await threads(_kept)
    assert ended.status == ends
    assert [part[: len(was)] for part, was in zip(after, before, strict=True)] == list(before)
    assert len(after[1]) > len(before[1])
    await house.complete("r3", "go on")
    texts = [str(said["text"]) for said in house.provider.prompts[-1] if said["role"] == "user"]
    assert texts == ["hello", "write to them", "go on"]
    assert house.tools.ran == {}
    await threads(admission.close_session, KEY.session)
