"""Several calls of one reply: some free, some for a person, some failing, some elsewhere (I33).

Every kernel, over the real store, by processes that die behind each answer.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, contextmanager
from datetime import timedelta
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.faults import plan
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import Interaction, ModelCall, ToolCall
from sessions_app.store import asked, clock, interactions
from sessions_app.store.backend import StoreBackend
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.invariants import check
from tests.contracts.harness.bench import Killed
from tests.contracts.harness.house import House
from tests.contracts.harness.kernels import KERNELS
from tests.covers import covers, poses
from tests.unit.tooling.updates import ADMITTED, ENDS, STARTED, updates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.database import Database
    from sessions_app.contract.backend import Claim, Commit, CommitAnswer
    from sessions_app.contract.views import InteractionView
    from tests.contracts.harness.kernels import Kernel
    from tests.stores import Store

FOUR = (
    Reply("", tuple(Call("send_email", {"to": name}) for name in "abcd")),
    Reply("All answered."),
)
ORDERS = list(permutations(range(4)))
MIXED = (
    Reply(
        "",
        (
            Call("send_email", {"to": "a"}),
            Call("fail"),
            Call("generate_report", {"title": "t"}),
            Call("add", {"a": 2, "b": 3}),
            Call("send_email", {"to": "b"}),
        ),
    ),
    Reply("Done."),
)


AGAIN = (
    *(Reply("", (Call("send_email", {"to": name}),)) for name in "abcde"),
    Reply("Five are out."),
)


class Fragile(StoreBackend):
    """The real store; as many as it is told die before their next commit."""

    deaths = 0

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Commit, unless it is time to die."""
        if self.deaths:
            self.deaths -= 1
            raise Killed
        return super().commit(claim, change)


class Office(House):
    """Processes that die behind an answer, and the person who answers."""

    backend: Fragile
    turn_id = ""
    steps = 0

    async def ask(self) -> tuple[InteractionView, ...]:
        """Submit, go on until somebody is asked, and give what is asked."""
        self.turn_id = await self.submit()
        await self.drive(self.turn_id)
        return await self.pending()

    async def pending(self) -> tuple[InteractionView, ...]:
        """What can be answered now."""
        return (await self.database(asked.pending, self.turn_id)).items

    async def outlast(self, steps: int, times: AsyncExitStack) -> None:
        """Let time pass between deaths, each time less than makes a gap in scanning."""
        for _ in range(steps):
            self.steps += 1
            moved = clock.offset(timedelta(seconds=2.1 * self.steps))
            await self.database(moved.__enter__)
            times.push_async_callback(self.database, moved.__exit__, None, None, None)
            await self.drive(self.turn_id)

    async def answer(self, view: InteractionView, *, allow: bool, deaths: int = 0) -> None:
        """Answer; so many of those that go on for it die, and another one takes over."""
        key, request = SessionKey("acme", self.session).thread(), f"for-{view.interaction_id}"
        await self.database(
            interactions.respond, key, self.turn_id, request, view.interaction_id, allow
        )
        self.backend.deaths = deaths
        await self.drive(self.turn_id)

    async def signal(self) -> None:
        """Say that order 7 was paid."""
        key = SessionKey("acme", self.session).thread()
        content: JsonValue = {"amount": 5}
        await self.database(
            interactions.signal, key, self.turn_id, "paid", "x.shop.paid.7", content
        )
        await self.drive(self.turn_id)

    def results(self) -> list[object]:
        """Contents of the results in the last prompt, in its order."""
        return [m["content"] for m in self.provider.prompts[-1] if m["role"] == "tool"]

    async def status(self) -> str:
        """Where the Turn stands."""
        return (await self.database(self.store.turn, self.turn_id)).status


def office(store: Store, kernel: Kernel, threads: Database, replies: tuple[Reply, ...]) -> Office:
    """Open one."""
    return Office(store, kernel, Fragile("build-1"), threads, replies)


@poses("C35")
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "".join(map(str, order)))
async def test_four_questions_are_answered_in_any_order(
    store: Store, threads: Database, order: tuple[int, ...]
) -> None:
    """Each answer is for its own call; what was allowed runs once, results keep the order."""
    house = office(store, KERNELS[sum(order[:2]) % 2], threads, FOUR)
    denied = set(order[: ORDERS.index(order) % 4])
    listed = await house.ask()
    assert len(listed) == 4

    for done, place in enumerate(order, start=1):
        await house.answer(listed[place], allow=place not in denied, deaths=1)
        assert len(await house.pending()) == 4 - done

    assert await house.status() == TurnStatus.COMPLETED
    assert house.tools.ran["send_email"] == 4 - len(denied)
    refusal = "The call was refused by a person."
    wanted = [f"sent to {name}" for name in "abcd"]
    assert house.results() == [refusal if n in denied else wanted[n] for n in range(4)]


@covers("R144")
async def test_free_calls_of_a_reply_do_not_wait_for_a_person(
    store: Store, kernel: Kernel, threads: Database
) -> None:
    """What is free runs or leaves at once; a denied call is a result; all keep the calls' order."""
    house = office(store, kernel, threads, MIXED)

    first, second = await house.ask()
    before = dict(house.tools.ran)
    report = await threads(ToolCall.objects.get, route="reports")
    await house.answer(second, allow=False)
    await threads(_arrives, report)
    assert await house.status() == TurnStatus.WAITING
    await house.answer(first, allow=True)

    assert before == {"fail": 1, "add": 1}
    assert report.deliver_at is not None
    assert await house.status() == TurnStatus.COMPLETED
    assert house.tools.ran == {"fail": 1, "add": 1, "send_email": 1}
    refusal = "The call was refused by a person."
    assert house.results() == ["sent to a", "the disk is full", {"n": 1}, 5, refusal]


def _arrives(call: ToolCall) -> None:
    """Have Hands tell of a call from its admission to its result."""
    for update in updates(call, [*ADMITTED, *STARTED, ENDS[0]]):
        StoreInbox().take(update)


ASKING = (
    ("brain.model.after_outcome", 3),
    ("brain.commit.after_lock", 3),
    ("brain.commit.before_commit", 3),
    ("brain.commit.after_commit", 1),  # then the question is stored, and nobody may claim
)
STARTING = ("brain.commit.after_lock", "brain.commit.before_commit")


@contextmanager
def dying(house: Office, point: str, deaths: int = 3) -> Iterator[None]:
    """Let so many processes that reach this point behind a reply die there."""
    before = house.deaths

    def act(_name: str) -> None:
        if house.provider.requests and house.deaths < before + deaths:
            raise Killed

    with plan({point: act}):
        yield
    assert house.deaths == before + deaths


@poses("C33")
@pytest.mark.parametrize("place", range(len(ASKING)), ids=lambda place: ASKING[place][0])
async def test_one_question_for_a_call_however_often_its_process_dies(
    store: Store, threads: Database, place: int
) -> None:
    """Deaths from the reply to the stored question, and three between the answer and the start."""
    kernel = KERNELS[place % len(KERNELS)]
    replies = (Reply("", (Call("send_email", {"to": "a"}),)), Reply("Sent."))
    house = office(store, kernel, threads, replies)

    async with AsyncExitStack() as times:
        with dying(house, *ASKING[place]):
            await house.ask()
            await house.outlast(2, times)
        (view,) = await house.pending()
        with dying(house, STARTING[place % 2]):
            await house.answer(view, allow=True)
            await house.outlast(2, times)

    assert await house.status() == TurnStatus.COMPLETED
    assert house.tools.ran == {"send_email": 1}
    assert await threads(lambda: Interaction.objects.get().pk) == view.interaction_id


@poses("C38")
async def test_five_questions_in_one_turn_repeat_nothing(
    store: Store, kernel: Kernel, threads: Database
) -> None:
    """A question in each of five replies, another process after each answer: six requests."""
    house = office(store, kernel, threads, AGAIN)
    await house.ask()

    for _ in range(5):
        (view,) = await house.pending()
        await house.answer(view, allow=True)

    assert await house.status() == TurnStatus.COMPLETED
    assert (house.provider.requests, house.tools.ran["send_email"]) == (6, 5)
    turn = await threads(store.turn, house.turn_id)
    counted = await threads(lambda: [call.requests or 0 for call in ModelCall.objects.all()])
    assert turn.requests == sum(counted) == 6
    report = await threads(lambda: check(quiet=True))
    assert report.is_clean, "\n".join(map(str, report.breaches))


PAID = (Reply("", (Call("paid", {"order": "7"}), Call("add", {"a": 1, "b": 1}))), Reply("Thanks."))


@covers("R146")
@pytest.mark.parametrize("came", ["before", "after", "never"])
async def test_a_call_waits_for_its_signal_in_every_kernel(
    store: Store, kernel: Kernel, threads: Database, came: str
) -> None:
    """The signal, or the passed deadline, reaches the model by the ordinary path."""
    house = office(store, kernel, threads, PAID)
    house.turn_id = await house.submit()
    if came == "before":
        await house.signal()

    async with AsyncExitStack() as times:
        await house.drive(house.turn_id)
        if came == "after":
            assert await house.status() == TurnStatus.WAITING
            await house.signal()
        await house.outlast(2, times)

    assert await house.status() == TurnStatus.COMPLETED
    ended = {"amount": 5} if came != "never" else "No signal x.shop.paid.7 came in time."
    assert house.results() == [ended, 2]
