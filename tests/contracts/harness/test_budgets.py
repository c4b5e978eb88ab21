"""Limits of rounds and tokens: counted over all Runs of a Turn, whatever interrupts it (T20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.content import user_input
from sessions_app.contract.status import SignalStatus, TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.machine.admission import Limits
from sessions_app.models import ModelCall, Run, Signal, Turn
from sessions_app.store import controls
from sessions_app.store.backend import StoreBackend
from sessions_app.store.invariants import check
from tests.contracts.harness.bench import Bench, Killed
from tests.contracts.harness.house import House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.contracts.harness.provider import Provider
from tests.covers import covers, poses

if TYPE_CHECKING:
    from sessions_app.brain.database import Database
    from sessions_app.contract.backend import Claim, Commit, CommitAnswer
    from tests.stores import Store

LIMIT = 10
MOST = 100
AGAIN = Reply("", (Call("add", {"a": 1, "b": 1}),))
OVER_THE_STORE = pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.id)


class Fleeting(StoreBackend):
    """The store of processes of which each dies behind its first step."""

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Commit, and die if that was progress."""
        answer = super().commit(claim, change)
        if change.entries or change.results:
            raise Killed
        return answer


@pytest.fixture
def house(store: Store, threads: Database, kernel: Kernel) -> House:
    """Give an agent that would ask for the same call for ever."""
    replies = [AGAIN] * LIMIT + [Reply("a fresh start"), *[AGAIN] * MOST]
    return House(store, kernel, Mortal(), threads, replies, limits=Limits(rounds=LIMIT))


def meddle(house: House, turn_id: str, number: int) -> None:
    """Steer once, and pause and resume twice, between two processes."""
    turn = Turn.objects.select_related("thread__session").get(pk=turn_id)
    key = turn.thread.key_in(turn.thread.session.key)
    if turn.status == TurnStatus.PAUSED:
        controls.resume(key, turn_id, f"resume-{number}", turn.revision)
    elif number in {5, 11}:
        controls.pause(key, turn_id, f"pause-{number}")
    elif number == 8:
        controls.steer(key, turn_id, "steer", user_input("stop it"))


@covers("R062")
@poses("C56", "T20")
@OVER_THE_STORE
async def test_an_endless_loop_ends_at_its_limit_over_all_runs(house: House) -> None:
    """A process for each step, a steer, pauses: ten rounds, then FAILED with a clear code."""
    house.backend = Fleeting("build-1")
    turn_id = await house.submit()
    for number in range(MOST):
        await house.process()
        turn = await house.database(house.store.turn, turn_id)
        if turn.is_terminal:
            break
        await house.database(meddle, house, turn_id, number)

    assert (turn.status, turn.error_code) == (TurnStatus.FAILED, "ITERATION_LIMIT")
    assert (turn.rounds, turn.failures) == (LIMIT, 1)
    assert house.provider.requests == LIMIT
    assert await house.database(Run.objects.filter(turn=turn_id).count) > LIMIT
    signal = await house.database(Signal.objects.get)
    assert signal.status == SignalStatus.APPLIED
    assert (await house.database(check)).is_clean


@covers("R063")
@poses("C56")
@OVER_THE_STORE
async def test_the_turn_behind_the_limit_has_a_fresh_budget(house: House) -> None:
    """It finds a clean history and all its rounds (I10)."""
    await house.complete(ends=TurnStatus.FAILED)

    turn = await house.complete("r2", "go on")

    assert turn.result == {"parts": [{"type": "text", "text": "a fresh start"}]}
    assert (turn.rounds, turn.round_limit) == (1, LIMIT)


@poses("C56", "T20")
@OVER_THE_STORE
async def test_a_token_limit_ends_the_turn_in_the_same_way(house: House) -> None:
    """Nothing is asked once the known tokens of all Runs have come to it."""
    limit = {"scripted": 40, "pydantic_ai": 250}[house.kernel.id]  # each counts in its own way
    house.limits = Limits(rounds=50, tokens=limit)
    house.backend = Mortal("after", 3)

    turn = await house.complete(ends=TurnStatus.FAILED)

    used = [calls[0] + calls[1] for calls in await house.database(_tokens)]
    assert turn.error_code == "TOKEN_LIMIT"
    assert sum(used) >= limit > sum(used[:-1])
    assert house.deaths == 1
    assert 1 < house.provider.requests < LIMIT


@covers("R063")
async def test_applying_results_costs_no_round(kernel: Kernel) -> None:
    """The Run that goes on with what Hands brought needs the second round for its request only."""
    replies = [Reply("", (Call("generate_report", {"title": "x"}),)), Reply("done")]
    run = Bench(kernel, Provider(replies), results={"generate_report": {"pages": 3}})
    run.backend.round_limit = 2

    turn = await run.complete()

    assert (turn.status, turn.rounds) == ("COMPLETED", 2)


def _tokens() -> list[tuple[int, int]]:
    known = ModelCall.objects.filter(status="COMPLETED").order_by("ordinal")
    return [(call.input_tokens or 0, call.output_tokens or 0) for call in known]
