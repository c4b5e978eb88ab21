"""An adapter of one's own waits for signals and deadlines without a tool (R146)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.strict_json import canonical
from sessions_app.contract.backend import WaitDraft
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import CheckpointKind, SignalKind, TurnStatus
from sessions_app.harnesses import journal
from sessions_app.harnesses.scripted import codec
from sessions_app.harnesses.scripted.adapter import ScriptedAdapter
from sessions_app.models import Run, Wait
from sessions_app.ports import ExecutionHost, Finished, InvocationEnd, Suspended
from sessions_app.store import clock, interactions
from sessions_app.store.backend import StoreBackend
from tests.contracts.harness.house import House
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.covers import covers

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.database import Database
    from sessions_app.registry import Definition
    from tests.stores import Store

PAID, SENT = "x.shop.paid", "x.shop.sent"


class Watcher(ScriptedAdapter):
    """Waits for two signals, the first until a deadline, and ends with what it heard."""

    deadline_ms = 0

    async def run(self, _definition: Definition, host: ExecutionHost) -> InvocationEnd:
        """Wait, or take in what ended a wait; finish once both have ended."""
        context = host.context
        state = codec.restore(host.native, context.definition, context.turn_id)
        heard = [given for given in host.new_inputs() if given.kind == SignalKind.EXTERNAL]
        news = [codec.said(f"{given.key}: {canonical(given.content).decode()}") for given in heard]
        said = [*state.opening, *news]
        if said:
            host.append(journal.items(len(state.history), said))
            state.history.extend(said)
            host.checkpoint(state.frame())
            host.mark_inputs_applied(*(given.signal_id for given in heard))
        waits = (WaitDraft(key=PAID, deadline_ms=self.deadline_ms), WaitDraft(key=SENT))
        open_ones = tuple(wait for wait in waits if not _heard(state.history, wait.key))
        if open_ones:
            return Suspended(waits=open_ones)
        result: JsonValue = {"heard": [message["text"] for message in state.history[1:]]}
        state.progress.finish(result)
        return Finished(result, frame=state.frame(CheckpointKind.SETTLED))


def _heard(history: list[dict[str, str]], key: str) -> bool:
    return any(message["text"].startswith(f"{key}:") for message in history)


class OwnKernel(Kernel):
    """The scripted kernel with another adapter."""

    watcher = Watcher()

    @property
    def adapter(self) -> ScriptedAdapter:
        """The adapter under test."""
        return self.watcher


@pytest.fixture
def house(store: Store, threads: Database) -> House:
    """Give processes that run the adapter."""
    first = KERNELS[0]
    kernel = OwnKernel(first.id, first.harness, first.factory, first.commits)
    return House(store, kernel, StoreBackend("build-1"), threads)


@covers("R146")
async def test_conditions_end_by_signal_and_by_deadline(house: House) -> None:
    """Many for one Turn, each ends once; the deadline's own signal says that it passed."""
    ends = await house.database(lambda: clock.now() + timedelta(minutes=1))
    OwnKernel.watcher.deadline_ms = round(ends.timestamp() * 1000)
    turn_id = await house.submit()
    turn = await house.drive(turn_id)
    assert (turn.status, turn.reason) == (TurnStatus.WAITING, "signal")

    key = SessionKey("acme", house.session).thread()
    await house.database(interactions.signal, key, turn_id, "s1", SENT, "by post")
    turn = await house.drive(turn_id)
    assert turn.status == TurnStatus.WAITING
    later = clock.offset(timedelta(minutes=2))
    await house.database(later.__enter__)
    turn = await house.drive(turn_id)
    await house.database(later.__exit__, None, None, None)

    assert turn.result == {
        "heard": [
            f'{SENT}: {{"content":"by post","key":"{SENT}"}}',
            f'{PAID}: {{"expired":true,"key":"{PAID}"}}',
        ]
    }
    ended = await house.database(lambda: [(w.key, w.status) for w in Wait.objects.order_by("id")])
    assert ended == [(PAID, "EXPIRED"), (SENT, "SIGNALLED")]
    assert await house.database(Run.objects.count) == 3
