"""Controls at every step boundary of both kernels, before and after each commit (C36, S6, S12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sessions_app.contract.backend import Finish
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import Closed, Conflict
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import SETTLED_CALLS, CallState, TurnStatus
from sessions_app.models import Command, Message, Signal, ToolCall
from sessions_app.store import controls
from sessions_app.store.backend import StoreBackend
from sessions_app.store.invariants import check
from tests.contracts.harness.house import COMMITS, REPLIES, House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.covers import covers, poses

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.brain.database import Database
    from sessions_app.contract.backend import Claim, Commit, CommitAnswer, Native
    from sessions_app.contract.views import Receipt
    from tests.stores import Store

THREAD = SessionKey("acme", "chat").thread()
STEER = "say it in French"
CLAIMED = -1
PLACES = [
    pytest.param(kernel, number, id=f"{kernel.id}-{number}")
    for kernel in KERNELS[:2]
    for number in range(COMMITS[kernel.harness] + 1)
]
"""Before each commit, and behind the last."""
OUTAGES = [
    pytest.param(kernel, number, id=f"{kernel.id}-{number}")
    for kernel in KERNELS[:2]
    for number in range(0, COMMITS[kernel.harness] - 1, 3)
]
DONE = {"parts": [{"type": "text", "text": "All done."}]}


class Meddling(StoreBackend):
    """The real store, with something done before one commit, or behind the end of the Turn.

    Keeps what came of it.
    """

    def __init__(self, place: int, action: Callable[[str], object]) -> None:
        super().__init__("build-1")
        self.answer: object = None
        self._place = place
        self._action = action
        self._commits = 0

    def load(self, claim: Claim) -> Native:
        """Load, with what happens between the claim and that."""
        self._do(claim, self._place == CLAIMED)
        return super().load(claim)

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Commit, with what happens before it."""
        self._do(claim, self._place == self._commits)
        self._commits += 1
        answer = super().commit(claim, change)
        last = self._commits == self._place
        self._do(claim, last and isinstance(change.end, Finish))
        return answer

    def _do(self, claim: Claim, here: object) -> None:
        if here and self.answer is None:
            try:
                self.answer = self._action(claim.turn_id)
            except Conflict as refused:
                self.answer = refused


async def _clean(threads: Database) -> None:
    report = await threads(lambda: check(quiet=True))
    assert report.is_clean, "\n".join(map(str, report.breaches))


def _begun_after(request: str) -> int:
    """How many effects began after this request was admitted."""
    at = Command.objects.get(request_id=request).at
    return ToolCall.objects.filter(started_at__gt=at).count()


def _open_calls() -> int:
    return ToolCall.objects.exclude(state__in=SETTLED_CALLS).count()


@covers("R045")
@poses("C36", "S6")
@pytest.mark.parametrize(("chosen", "place"), PLACES)
async def test_a_cancel_at_any_commit_is_never_overtaken(
    store: Store, threads: Database, chosen: Kernel, place: int
) -> None:
    """Recorded before the end, it is the end; after it, the caller hears Closed (I13)."""
    backend = Meddling(place, lambda turn_id: controls.cancel(THREAD, turn_id, "c1"))
    house = House(store, chosen, backend, threads)
    turn_id = await house.submit()

    turn = await house.drive(turn_id)

    if isinstance(backend.answer, Closed):
        assert turn.status == TurnStatus.COMPLETED
    else:
        assert turn.status == TurnStatus.CANCELLED
        assert await threads(_begun_after, "c1") == 0
        assert await threads(_open_calls) == 0
        said = await threads(Message.objects.filter(role="assistant").count)
        assert said <= house.provider.requests
    assert turn.failures == 0
    await _clean(threads)


@covers("R047", "R048")
@poses("S6")
@pytest.mark.parametrize(("chosen", "place"), PLACES)
async def test_a_pause_at_any_commit_stops_and_resumes_without_loss(
    store: Store, threads: Database, chosen: Kernel, place: int
) -> None:
    """Nothing runs while it is PAUSED; resumed, it ends as it would have, asking nothing twice."""
    backend = Meddling(place, lambda turn_id: controls.pause(THREAD, turn_id, "p1"))
    house = House(store, chosen, backend, threads)
    turn_id = await house.submit()

    paused = await house.drive(turn_id)
    if paused.status == TurnStatus.PAUSED:
        assert (await house.drive(turn_id)).revision == paused.revision
        await threads(controls.resume, THREAD, paused.pk, "go-on", paused.revision)
    turn = await house.drive(turn_id)

    assert (turn.status, turn.result) == (TurnStatus.COMPLETED, DONE)
    assert house.provider.requests == len(house.provider.replies)
    assert house.tools.ran == {"add": 1, "fail": 1, "note": 1}
    await _clean(threads)


@covers("R040", "R043")
@poses("S12")
@pytest.mark.parametrize(("chosen", "place"), PLACES)
async def test_a_steer_at_any_commit_is_applied_once_or_refused(
    store: Store, threads: Database, chosen: Kernel, place: int
) -> None:
    """Admitted, it makes a step happen whose prompt has it; else the Turn had ended."""
    backend = Meddling(place, _steer)
    house = House(store, chosen, backend, threads, [*REPLIES, REPLIES[-1]])
    turn_id = await house.submit()

    turn = await house.drive(turn_id)

    assert turn.status == TurnStatus.COMPLETED
    seen = [_texts(prompt).count(STEER) for prompt in house.provider.prompts]
    if isinstance(backend.answer, Closed):
        assert set(seen) == {0}
    else:
        assert seen[-1] == 1
        assert await threads(lambda: Signal.objects.get().status) == "APPLIED"
    await _clean(threads)


@covers("R041")
@poses("S6")
@pytest.mark.parametrize(("chosen", "place"), PLACES)
async def test_a_withdrawal_at_any_commit_wins_or_loses_whole(
    store: Store, threads: Database, chosen: Kernel, place: int
) -> None:
    """Either no prompt ever has the input, or the caller is told where it was applied."""

    def withdraw(turn_id: str) -> object:
        return controls.withdraw(THREAD, turn_id, "w1", "s1")

    backend = Meddling(place, withdraw)
    house = House(store, chosen, backend, threads)
    turn_id = await house.submit()
    await threads(_steer, turn_id)

    turn = await house.drive(turn_id)

    assert turn.status == TurnStatus.COMPLETED
    seen = [_texts(prompt).count(STEER) for prompt in house.provider.prompts]
    if isinstance(backend.answer, Conflict):
        assert "position" in str(backend.answer)
        assert seen[-1] == 1
    else:
        assert set(seen) == {0}
        assert await threads(lambda: Signal.objects.get().status) == "WITHDRAWN"
    assert turn.failures == 0
    await _clean(threads)


@covers("R045")
@pytest.mark.parametrize("wish", ["cancel", "pause"])
async def test_a_wish_between_claim_and_load_is_heard_before_the_first_request(
    store: Store, threads: Database, kernel: Kernel, wish: str
) -> None:
    """The very first boundary is one: no model is asked."""
    ask = {"cancel": controls.cancel, "pause": controls.pause}[wish]
    backend = Meddling(CLAIMED, lambda turn_id: ask(THREAD, turn_id, "c1"))
    house = House(store, kernel, backend, threads)

    turn = await house.drive(await house.submit())

    assert turn.status == {"cancel": TurnStatus.CANCELLED, "pause": TurnStatus.PAUSED}[wish]
    assert house.provider.requests == 0
    await _clean(threads)


@poses("S11")
@pytest.mark.parametrize(("chosen", "number"), OUTAGES)
@pytest.mark.parametrize("wish", ["steer", "inject", "pause", "cancel"])
async def test_a_control_during_an_outage_changes_no_replay(
    store: Store, threads: Database, chosen: Kernel, number: int, wish: str
) -> None:
    """What was answered is asked again by nobody, and no failure is charged (S11)."""
    house = House(store, chosen, Mortal("after", number), threads)
    turn_id = await house.submit()
    await house.process()
    assert house.deaths == 1
    asked = await threads(_ask, wish, turn_id)

    turn = await house.drive(turn_id)
    if wish == "pause":
        assert turn.status == TurnStatus.PAUSED
        await threads(controls.resume, THREAD, turn_id, "go-on", turn.revision)
        turn = await house.drive(turn_id)

    assert asked.operation == wish
    assert turn.failures == 0
    if wish == "cancel":
        doubtful = await threads(ToolCall.objects.filter(state=CallState.UNKNOWN).count)
        assert turn.status == (TurnStatus.CANCELLING if doubtful else TurnStatus.CANCELLED)
    else:
        assert turn.status == TurnStatus.COMPLETED
        assert house.provider.requests == len(REPLIES)
    await _clean(threads)


def _ask(wish: str, turn_id: str) -> Receipt:
    if wish in {"steer", "inject"}:
        given = {"steer": controls.steer, "inject": controls.inject}[wish]
        return given(THREAD, turn_id, "s1", user_input(STEER))
    return {"pause": controls.pause, "cancel": controls.cancel}[wish](THREAD, turn_id, "c1")


def _steer(turn_id: str) -> object:
    return controls.steer(THREAD, turn_id, "s1", user_input(STEER))


def _texts(prompt: Any) -> list[str]:
    return [message.get("text", "") for message in prompt]
