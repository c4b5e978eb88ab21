"""One invocation without a database: what is stored when, what is replayed, and where it stops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.ids import execution_id
from sessions_app.brain.failure import Diverged, Interrupted, IterationLimit
from sessions_app.contract.backend import Go, HandOver
from sessions_app.contract.errors import OwnershipLost
from sessions_app.contract.status import CallState, StepPhase
from sessions_app.ports import ToolReturn
from tests.covers import covers, poses
from tests.unit.brain.brainlets import Model, Stage, call_intent

if TYPE_CHECKING:
    from sessions_app.brain.invocation import Invocation


@pytest.fixture
def stage() -> Stage:
    """Give one Thread with one Turn."""
    return Stage()


async def ask(host: Invocation, model: Model, ordinal: int = 1, text: str = "hello") -> object:
    """Ask for one outcome."""
    return await host.ask_model(ordinal=ordinal, request={"text": text}, send=model)


async def intended(
    stage: Stage, host: Invocation, effect: str = "once", *, start: bool = True
) -> str:
    """Ask once, commit the intent that follows, and give its execution id."""
    await ask(host, Model())
    host.intend(call_intent(effect, start=start))
    await host.commit()
    return execution_id(stage.backend.turn.id, "1/c1", 0)


async def test_law_6_an_outcome_is_committed_with_the_intents_it_leads_to(stage: Stage) -> None:
    """One commit holds the outcome, its facts and its intents, and begins a TOOL Step."""
    host = stage.invocation()

    await intended(stage, host)

    (change,) = stage.backend.changes
    assert [entry.ordinal for entry in change.entries] == [1]
    assert change.model_calls[0].request_digest == change.entries[0].request_digest
    assert change.end == Go(phase=StepPhase.TOOL)


async def test_law_6_a_stored_outcome_is_replayed_and_never_asked_again(stage: Stage) -> None:
    """After a takeover the provider hears nothing of a request whose outcome is stored."""
    model = Model()
    first = stage.invocation()
    body = await ask(first, model)
    await first.commit()

    again = await ask(stage.invocation(died=True), model)

    assert again == body
    assert model.requests == 1


async def test_law_6_the_next_request_waits_for_the_commit_of_the_last_outcome(
    stage: Stage,
) -> None:
    """An outcome in the buffer is stored before another request leaves."""
    host, model = stage.invocation(), Model()
    await ask(host, model)

    await ask(host, model, ordinal=2)

    assert [entry.ordinal for entry in stage.backend.entries] == [1]
    assert stage.backend.changes[0].end == Go(phase=StepPhase.REASONING)


async def test_a_replay_of_another_request_diverges(stage: Stage) -> None:
    """An outcome is never used for a request that it did not answer."""
    first = stage.invocation()
    await ask(first, Model())
    await first.commit()

    with pytest.raises(Diverged):
        await ask(stage.invocation(died=True), Model(), text="another")


@covers("R062")
async def test_r062_the_round_limit_counts_over_all_runs(stage: Stage) -> None:
    """Stored rounds count; the limit ends the Turn before a request leaves."""
    host, model = stage.invocation(), Model()
    host._round_limit = 2
    await ask(host, model)
    await ask(host, model, ordinal=2)

    with pytest.raises(IterationLimit):
        await ask(host, model, ordinal=3)

    assert model.requests == 2


@poses("S7")
async def test_s7_a_lost_answer_is_asked_about_with_the_same_change_id(stage: Stage) -> None:
    """The store sees one change, whose answer comes on the second try."""
    stage.backend.lost_answers = 1
    host = stage.invocation()

    await intended(stage, host)

    assert stage.backend.commits == 1
    assert host.call("c1", 0, 1) is not None


@poses("S15")
async def test_s15_absent_storage_is_waited_for(stage: Stage) -> None:
    """Storage that is away delays the commit and costs nothing."""
    stage.backend.away = 2
    host = stage.invocation()

    await intended(stage, host)

    assert stage.backend.commits == 1


@poses("S15")
async def test_s15_storage_that_stays_away_beyond_hope_means_lost(stage: Stage) -> None:
    """One lease after the lease ran out the invocation stops, committing nothing."""
    stage.backend.away = 1_000_000
    host = stage.invocation(lease=0.01)
    host.append()
    await ask(host, Model())

    with pytest.raises(OwnershipLost):
        await host.commit()

    assert stage.held.is_lost


async def test_law_4_another_token_stops_the_invocation(stage: Stage) -> None:
    """A commit under an old token is refused, and nothing more is tried."""
    host = stage.invocation()
    await ask(host, Model())
    stage.backend.claim()

    with pytest.raises(OwnershipLost):
        await host.commit()

    assert stage.held.is_lost
    assert stage.backend.entries == []


@poses("S10")
async def test_s10_the_start_record_is_committed_before_the_effect(stage: Stage) -> None:
    """A call whose intent made no start record gets one in a commit of its own."""
    host = stage.invocation()
    name = await intended(stage, host, start=False)
    seen: list[CallState] = []

    async def body() -> ToolReturn:
        seen.append(stage.backend.turn.calls[name].state)
        return ToolReturn("done")

    facts = await host.run_local(name, body)

    assert seen == [CallState.STARTED]
    assert facts.state == CallState.COMPLETED
    assert facts.result == {"content": "done", "errorText": None}


async def test_a_call_with_a_result_does_not_run_again(stage: Stage) -> None:
    """The stored result is given back, in this Run and in the next."""
    host = stage.invocation()
    name = await intended(stage, host)
    ran = 0

    async def body() -> ToolReturn:
        nonlocal ran
        ran += 1
        return ToolReturn(ran)

    await host.run_local(name, body)
    await host.run_local(name, body)
    facts = await stage.invocation(died=True).run_local(name, body)

    assert ran == 1
    assert facts.result == {"content": 1, "errorText": None}


@pytest.mark.parametrize(("effect", "runs"), [("read", 1), ("idempotent", 1), ("once", 0)])
async def test_law_7_a_started_call_of_a_dead_owner(stage: Stage, effect: str, runs: int) -> None:
    """What may be repeated runs again; the rest is UNKNOWN and is not touched."""
    name = await intended(stage, stage.invocation(), effect)
    ran = 0

    async def body() -> ToolReturn:
        nonlocal ran
        ran += 1
        return ToolReturn("done")

    facts = await stage.invocation(died=True).run_local(name, body)

    assert ran == runs
    assert facts.state == (CallState.COMPLETED if runs else CallState.UNKNOWN)


async def test_a_cancelled_caller_does_not_cut_an_effect_short(stage: Stage) -> None:
    """The body goes on, and its result is stored before the invocation ends."""
    host = stage.invocation()
    name = await intended(stage, host)
    began, go_on = asyncio.Event(), asyncio.Event()

    async def body() -> ToolReturn:
        began.set()
        await go_on.wait()
        return ToolReturn("done")

    caller = asyncio.create_task(host.run_local(name, body))
    await began.wait()
    caller.cancel()
    await asyncio.wait([caller])
    go_on.set()
    await host.give_up(HandOver(reason="drain"))

    assert caller.cancelled()
    assert stage.backend.turn.calls[name].state == CallState.COMPLETED


async def test_law_7_a_body_that_raised_leaves_a_once_call_unknown(stage: Stage) -> None:
    """An undeclared exception says nothing about the effect."""
    host = stage.invocation()
    name = await intended(stage, host)

    async def body() -> ToolReturn:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await host.run_local(name, body)
    await host.give_up(HandOver(reason="drain"))

    assert stage.backend.turn.calls[name].state == CallState.UNKNOWN


async def test_an_unreadable_return_is_recorded_as_a_failed_call(stage: Stage) -> None:
    """The effect happened; that its return is no JSON must not hide it."""
    host = stage.invocation()
    name = await intended(stage, host)

    async def body() -> ToolReturn:
        return ToolReturn({"n": float("nan")})

    facts = await host.run_local(name, body)

    assert facts.state == CallState.FAILED


@poses("S24")
async def test_s24_a_drain_stops_before_the_next_request(stage: Stage) -> None:
    """A process that was told to stop sends nothing more."""
    host, model = stage.invocation(), Model()
    stage.draining = True

    with pytest.raises(Interrupted):
        await ask(host, model)

    assert model.requests == 0
    assert host.interrupted is not None


@poses("S24")
async def test_s24_a_started_effect_is_finished_before_the_invocation_stops(stage: Stage) -> None:
    """With a start record and no outcome there is no safe place to stop."""
    host = stage.invocation()
    await ask(host, Model())
    stage.draining = True
    host.intend(call_intent())

    await host.commit()
    await host.run_local(execution_id(stage.backend.turn.id, "1/c1", 0), _done)

    with pytest.raises(Interrupted):
        await host.commit()


@poses("S11")
async def test_s11_new_inputs_wait_for_the_first_request_without_a_stored_outcome(
    stage: Stage,
) -> None:
    """While outcomes remain to be replayed a boundary takes in nothing new."""
    first = stage.invocation()
    await ask(first, Model())
    await first.commit()
    given = stage.backend.steer("faster")

    host = stage.invocation(died=True)
    before = host.new_inputs()
    await ask(host, Model())

    assert before == ()
    assert host.new_inputs() == (given,)


@poses("S12")
async def test_s12_an_input_is_committed_as_applied_before_its_request_leaves(stage: Stage) -> None:
    """Marking alone is enough: the request makes the commit come first."""
    given = stage.backend.steer("faster")
    host = stage.invocation()
    host.mark_inputs_applied(given.signal_id)

    await ask(host, Model())

    assert stage.backend.turn.applied_inputs == [given.signal_id]


@pytest.mark.parametrize(
    ("error", "status", "requests"),
    [(TimeoutError(), "LOST", None), (KeyError("bug"), "FAILED", 1)],
)
@covers("R064", "R068")
async def test_a_request_without_an_answer_leaves_its_facts(
    stage: Stage, error: Exception, status: str, requests: int | None
) -> None:
    """What a provider may have answered is LOST; unknown counts are none; outcomes are kept."""
    host = stage.invocation()
    await ask(host, Model())
    with pytest.raises(type(error)):
        await ask(host, Model(error), ordinal=2)

    await host.give_up(HandOver(reason="drain"))

    answered, unheard = stage.backend.turn.model_calls
    assert (answered.status, unheard.status) == ("COMPLETED", status)
    assert (unheard.requests, unheard.input_tokens, unheard.output_tokens) == (requests, None, None)
    assert unheard.duration_ms is not None
    assert len(stage.backend.entries) == 1


async def _done() -> ToolReturn:
    return ToolReturn("done")
