"""Store rule S11 for every control: what is asked during a replay waits for the end of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
from django.conf import settings

from sessions_app.contract.backend import ModelCallFacts, WaitDraft
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import CheckpointKind, TurnStatus
from sessions_app.harnesses import journal
from sessions_app.harnesses.scripted import codec
from sessions_app.harnesses.scripted.adapter import ScriptedAdapter
from sessions_app.machine.control_table import Operation
from sessions_app.ports import ExecutionHost, Finished, InvocationEnd, ModelOutcome, Suspended
from sessions_app.store.backend import StoreBackend
from tests.contracts.harness.house import REPLIES, House
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.covers import poses
from tests.integration.controls.scenes import INPUT, SIGNAL_KEY, Subject
from tests.stores import tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.brain.database import Database
    from sessions_app.contract.backend import Claim, Native
    from sessions_app.registry import Definition
    from tests.stores import Store

Op = Operation
THREAD: Final = SessionKey("acme", "chat").thread()
STOPS: Final = {Op.PAUSE: TurnStatus.PAUSED, Op.CANCEL: TurnStatus.CANCELLED}
"""Wishes, which are no inputs: they are heard at the first boundary, replay or not."""
# What the first boundary behind the replay takes in, beside the steer that was there before.
TAKEN: Final = {
    Op.STEER: ["early", "in French"],
    Op.INJECT: ["early", "material"],
    Op.WITHDRAW: [],
    Op.RESUME: ["early"],
    Op.SIGNAL: ["early", SIGNAL_KEY],
    Op.RESPOND: ["early"],  # the answer is the result of its call
}
UNOWNED: Final = {Op.RESUME, Op.RESPOND}
"""Asked before the claim: a PAUSED Turn has no owner, and the open question keeps it from one."""
WORDS: Final = {Op.STEER: "in French", Op.INJECT: "material"}


class Looker(ScriptedAdapter):
    """Asks its model once and leaves the checkpoint for the end; looks before and behind it."""

    def __init__(self, *, asks: bool) -> None:
        self.asks = asks
        self.parked = False
        self.looks: list[list[str]] = []

    async def run(self, _definition: Definition, host: ExecutionHost) -> InvocationEnd:
        """Park behind the answer; the next Run replays it."""
        await self._look(host)
        await host.ask_model(ordinal=1, request="hello", send=_answer)
        if not self.parked:
            self.parked = True
            if self.asks:
                host.intend(tool_intent(route="manual", start=False))
            await host.commit()
            return Suspended(waits=() if self.asks else (WaitDraft(key=SIGNAL_KEY),))
        await self._look(host)
        host.mark_inputs_applied(*(given.signal_id for given in host.new_inputs()))
        host.mark_applied(*(call.execution_id for call in host.native.calls))
        await host.commit()
        state = codec.restore(host.native, host.context.definition, host.context.turn_id)
        return Finished({"parts": []}, frame=state.frame(CheckpointKind.SETTLED))

    async def _look(self, host: ExecutionHost) -> None:
        await host.commit()
        self.looks.append([given.text or given.key or "" for given in host.new_inputs()])


async def _answer() -> ModelOutcome:
    facts = ModelCallFacts(ordinal=1, request_digest="", model="m")
    return ModelOutcome(journal.body(0, []), facts)


@dataclass(frozen=True)
class OwnKernel(Kernel):
    """A kernel with this adapter."""

    looker: Looker

    @property
    def adapter(self) -> ScriptedAdapter:
        """The adapter under test."""
        return self.looker


class Late(StoreBackend):
    """The real store, with something done between the claim and the load."""

    def __init__(self) -> None:
        super().__init__("build-1")
        self.act: Callable[[], object] = lambda: None

    def load(self, claim: Claim) -> Native:
        """Act, then load."""
        self.act()
        return super().load(claim)


@poses("S11")
@pytest.mark.parametrize("operation", Operation)
async def test_s11_a_replaying_boundary_takes_in_nothing_new(
    store: Store, threads: Database, operation: Operation
) -> None:
    """Inputs come in behind the replay, in their order; a wish to stop is heard before it."""
    looker, backend = Looker(asks=operation == Op.RESPOND), Late()
    kernel = OwnKernel("own", "scripted", KERNELS[0].factory, 0, looker)
    house = House(store, kernel, backend, threads)
    subject = Subject(store, THREAD, await house.submit())
    await house.process()
    if operation == Op.RESUME:
        await threads(subject.pause)
    await threads(subject.steer, INPUT, "early")
    if operation in UNOWNED:
        await threads(subject.ask, operation)
    else:
        backend.act = lambda: subject.ask(operation)

    await house.process()

    turn = await threads(store.turn, subject.turn_id)
    assert turn.status == STOPS.get(operation, TurnStatus.COMPLETED)
    opening, *replay = looker.looks
    assert opening == []
    assert replay == ([[], TAKEN[operation]] if operation in TAKEN else [])
    assert turn.failures == 0


@poses("S11")
@pytest.mark.parametrize("operation", [each for each in Operation if each != Op.RESPOND])
@pytest.mark.parametrize("chosen", KERNELS[:2], ids=lambda kernel: kernel.id)
async def test_s11_a_control_changes_no_request_whose_answer_is_stored(
    store: Store,
    threads: Database,
    monkeypatch: pytest.MonkeyPatch,
    chosen: Kernel,
    operation: Operation,
) -> None:
    """The first Run failed behind its answer: that is replayed, and the next request has the input.

    Nobody answers a question here: it is opened with the checkpoint that holds its reply.
    """
    monkeypatch.setitem(settings.DURABLE["RECOVERY"], "first_seconds", 0)
    house = House(store, chosen, StoreBackend("build-1"), threads, trips=1)
    subject = Subject(store, THREAD, await house.submit())
    await house.process()

    if operation == Op.RESUME:
        await threads(subject.pause)
    if operation == Op.WITHDRAW:
        await threads(subject.inject, INPUT)
    await threads(subject.ask, operation)
    turn = await house.drive(subject.turn_id)
    if operation == Op.PAUSE:
        await threads(subject.resume)
        turn = await house.drive(subject.turn_id)

    stopped = operation == Op.CANCEL
    assert turn.status == (TurnStatus.CANCELLED if stopped else TurnStatus.COMPLETED)
    word = WORDS.get(operation)
    seen = [sum(said.get("text") == word for said in asked) for asked in house.provider.prompts]
    assert seen == [0] if stopped else [0, *[int(word is not None)] * (len(REPLIES) - 1)]
    assert turn.failures == 1
