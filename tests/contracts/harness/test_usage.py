"""What a Turn used: known counts are kept, a request that was cut stands as LOST (C55, I37)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.conf import settings

from hands_app.contract.tools import Tool, tool
from sessions_app.contract.backend import ModelCallFacts
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import JournalEntry, ModelCall
from sessions_app.ports import ModelOutcome, execution_host
from sessions_app.store import controls
from sessions_app.store.invariants import check
from tests.contracts.harness.bench import Killed
from tests.contracts.harness.house import House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers, poses

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.database import Database
    from tests.stores import Store

ADD: Final = Reply("", (Call("add", {"a": 1, "b": 1}),))
REPLIES: Final = (ADD, ADD, ADD, Reply("done"))

pytestmark = pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.id)


@pytest.fixture
def house(store: Store, threads: Database, kernel: Kernel) -> House:
    """Give an agent that takes three rounds of tools and one more for its answer."""
    return House(store, kernel, Mortal(), threads, REPLIES)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have failures wait for a moment only."""
    policy = {"retries": 3, "first_seconds": 0.001, "cap_seconds": 0.001}
    monkeypatch.setattr(settings, "DURABLE", {**settings.DURABLE, "RECOVERY": policy})


def facts() -> list[tuple[str, int | None, int | None, int | None]]:
    """Status, requests and tokens of every model call, in order of asking."""
    found = ModelCall.objects.order_by("ordinal", "attempt")
    return list(found.values_list("status", "requests", "input_tokens", "output_tokens"))


@covers("R066", "R068")
@poses("C55")
@pytest.mark.parametrize("cut", [ConnectionResetError(), Killed()], ids=["reset", "kill"])
async def test_a_cut_request_is_lost_and_keeps_what_was_known(
    house: House, quick: None, cut: BaseException
) -> None:
    """Rounds before and after it keep their counts; the Turn says that its account is not whole."""

    async def cut_once(request: int) -> None:
        if request == 3:
            raise cut

    house.provider.hook = cut_once
    turn_id = await house.submit()

    turn = await house.drive(turn_id)
    while not turn.is_terminal:  # its backoff is a moment
        turn = await house.drive(turn_id)

    seen = await house.database(facts)
    assert [call[0] for call in seen] == [
        "COMPLETED",
        "COMPLETED",
        "LOST",
        "COMPLETED",
        "COMPLETED",
    ]
    assert seen[2][1:] == (None, None, None)
    assert (turn.status, turn.requests, turn.usage_complete) == (TurnStatus.COMPLETED, 4, False)
    assert turn.input_tokens == sum(call[2] or 0 for call in seen)
    assert turn.output_tokens == sum(call[3] or 0 for call in seen)
    assert (await house.database(check)).is_clean


@poses("C55")
async def test_a_cancel_cuts_no_request_and_keeps_every_count(house: House) -> None:
    """The third answer is awaited, counted and not acted upon."""
    turn_id = await house.submit()

    async def cancel(request: int) -> None:
        if request == 3:
            key = SessionKey("acme", "chat").thread()
            await house.database(controls.cancel, key, turn_id, "cancel")

    house.provider.hook = cancel
    turn = await house.drive(turn_id)

    seen = await house.database(facts)
    assert turn.status == TurnStatus.CANCELLED
    assert [call[0] for call in seen] == ["COMPLETED"] * 3
    assert (turn.requests, turn.usage_complete) == (3, True)
    assert turn.output_tokens == sum(call[3] or 0 for call in seen)


@covers("R065")
@pytest.mark.parametrize("side", ["before", "after"])
async def test_replay_adds_neither_requests_nor_usage(
    store: Store, threads: Database, kernel: Kernel, side: str
) -> None:
    """A Turn whose process died around an outcome used what a calm one uses, or says LOST."""
    calm = House(store, kernel, Mortal(), threads, REPLIES, session="calm")
    whole = await calm.complete()
    house = House(store, kernel, Mortal(side, 2), threads, REPLIES)

    turn = await house.complete()

    used = (turn.requests, turn.input_tokens, turn.output_tokens)
    assert used == (whole.requests, whole.input_tokens, whole.output_tokens)
    assert turn.rounds == whole.rounds
    assert house.deaths == 1


class Aside(Toolbox):
    """A toolbox with a tool that asks a model of its own, and dies with the first answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.died = False

    @cached_property
    def _all(self) -> tuple[Tool, ...]:
        return (self.summarise(),)

    def summarise(self) -> Tool:
        """Repeatable: what it asked is kept under a path of its own."""

        async def send() -> ModelOutcome:
            self.asked += 1
            seen = ModelCallFacts(
                ordinal=0, request_digest="", model="small", input_tokens=3, output_tokens=2
            )
            return ModelOutcome({"summary": self.asked}, seen)

        @tool(name="summarise", effect="idempotent")
        async def summarise() -> dict[str, Any]:
            """Summarise."""
            request: JsonValue = {"messages": "long"}
            body: Any = await execution_host().ask_model(
                path="summary", ordinal=1, request=request, send=send
            )
            if not self.died:
                self.died = True
                raise Killed
            return {"said": body}

        return summarise


@covers("R065", "R069")
async def test_a_side_call_has_a_receipt_of_its_own(house: House) -> None:
    """The tool that asked dies and runs again: its question is answered from the store, once."""
    house.provider.replies = (Reply("", (Call("summarise"),)), Reply("done"))
    aside = house.tools = Aside()

    turn = await house.complete()

    kept = await house.database(JournalEntry.objects.filter(path="summary").count)
    assert (aside.asked, kept, house.deaths) == (1, 1, 1)
    assert (turn.rounds, turn.requests) == (2, 3)
    results = [said for said in house.provider.prompts[-1] if said["role"] == "tool"]
    assert [said["content"] for said in results] == [{"said": {"summary": 1}}]
