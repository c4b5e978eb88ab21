"""Decisions about executions: admission, owning, recovery."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hands_app.contract.binding import EffectClass, ToolBinding
from hands_app.contract.ids import new_id
from hands_app.contract.messages import (
    Cancel,
    Execute,
    ExecutionResult,
    ExecutionState,
    Origin,
    UpdateKind,
)
from hands_app.machine import admission, owning, recovery
from hands_app.machine.admission import Admission, Cancellation
from hands_app.machine.execution import (
    LEGAL,
    Decision,
    Execution,
    Refusal,
    Resume,
    State,
    failed,
    move,
)
from tests.covers import covers, poses

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
DONE = ExecutionResult(state=ExecutionState.COMPLETED, content=1)
BROKE = failed("EXCEPTION", "the tool raised ValueError")


def command(effect: EffectClass = EffectClass.ONCE, execution_id: str | None = None) -> Execute:
    """Make a command that may start until LATER."""
    binding = ToolBinding(name="t", parameters={}, route="hands", effect=effect)
    origin = Origin(namespace="n", session_id="s", thread_id="t", turn_id=TURN)
    return Execute.of(
        execution_id=execution_id or new_id("exe_"),
        binding=binding,
        arguments={},
        origin=origin,
        not_after=LATER,
    )


TURN = new_id("turn_")


def cancel_of(order: Execute) -> Cancel:
    """Make the cancel of a command."""
    return Cancel(
        command_id=new_id("cmd_"),
        namespace="n",
        execution_id=order.execution_id,
        request_digest=order.request_digest,
        route=order.route,
    )


def admitted(effect: EffectClass = EffectClass.ONCE) -> Execution:
    """Make an execution that waits for an owner."""
    decision = admission.admit(None, command(effect), NOW, runnable=True).decision
    assert decision is not None
    return decision.execution


def claimed(effect: EffectClass = EffectClass.ONCE) -> Execution:
    """Make an execution with the owner `a`."""
    decision = owning.claim(admitted(effect), "host", "a", NOW)
    assert decision is not None
    return decision.execution


def started(effect: EffectClass = EffectClass.ONCE) -> Execution:
    """Make an execution with a start record."""
    return accepted(owning.start(claimed(effect), "a", NOW)).execution


def accepted(answer: Decision | Refusal | None) -> Decision:
    """Return the decision, which was not refused."""
    assert isinstance(answer, Decision)
    return answer


def test_a_command_sent_again_is_the_same_execution() -> None:
    """S8: identity and digest decide; a later `not_after` is taken over."""
    order = command()
    known = accepted(admission.admit(None, order, NOW, runnable=True).decision).execution
    fresh = order.model_copy(update={"not_after": LATER + timedelta(hours=1)})

    again = admission.admit(known, fresh, NOW, runnable=True)

    assert again.outcome is Admission.SAME
    assert accepted(again.decision).execution.not_after == fresh.not_after
    assert accepted(again.decision).news == ()


def test_the_same_identity_with_another_digest_is_refused() -> None:
    """T21: changed arguments, tool or route never run under a known identity."""
    known = admitted()
    other = command(EffectClass.READ, known.execution_id)

    found = admission.admit(known, other, NOW, runnable=True)

    assert found == admission.Admitted(Admission.CONFLICT)


@poses("S8")
def test_a_late_command_leaves_no_trace() -> None:
    """S8: an hour-old duplicate starts nothing, and a fresh command may still come."""
    found = admission.admit(None, command(), LATER + timedelta(seconds=1), runnable=True)

    assert found == admission.Admitted(Admission.TOO_LATE)


@covers("R185")
def test_a_cancel_that_comes_first_leaves_a_tombstone() -> None:
    """R185, I29: the command that comes after it runs nothing."""
    order = command()
    buried = admission.cancel(None, cancel_of(order), NOW)

    after = admission.admit(accepted(buried.decision).execution, order, NOW, runnable=True)

    assert buried.outcome is Cancellation.TOMBSTONED
    assert after == admission.Admitted(Admission.TOMBSTONED)


@pytest.mark.parametrize("make", [admitted, claimed])
def test_a_cancel_before_the_start_ends_the_execution(make: Callable[[], Execution]) -> None:
    """I29: no start follows, not even by the owner who had claimed it."""
    execution = make()
    order = command(execution_id=execution.execution_id)

    found = admission.cancel(execution, cancel_of(order), NOW)
    ended = accepted(found.decision).execution

    assert found.outcome is Cancellation.CANCELLED
    assert ended.state is State.CANCELLED
    assert owning.start(replace(ended, token="a"), "a", NOW) is Refusal.CANCELLED


def test_a_cancel_after_the_start_is_a_wish() -> None:
    """Requested, accepted and confirmed are three facts; the tool's real end is recorded."""
    execution = started()
    order = command(execution_id=execution.execution_id)

    found = admission.cancel(execution, cancel_of(order), NOW)
    wished = accepted(found.decision).execution

    assert found.outcome is Cancellation.REQUESTED
    assert wished.state is State.STARTED
    assert admission.cancel(wished, cancel_of(order), NOW).outcome is Cancellation.ALREADY
    assert accepted(owning.finish(wished, "a", DONE, NOW)).execution.state is State.COMPLETED


def test_a_cancel_with_another_digest_is_refused() -> None:
    """Nobody cancels what he cannot name."""
    execution = started()
    order = command(EffectClass.READ, execution.execution_id)

    assert admission.cancel(execution, cancel_of(order), NOW).outcome is Cancellation.CONFLICT


def test_one_claim_wins() -> None:
    """Law 9: losing a race is an ordinary answer."""
    assert owning.claim(claimed(), "other", "b", NOW) is None


@poses("S8")
def test_nothing_starts_after_not_after() -> None:
    """S8: neither a claim nor a start comes later, and the execution ends without an effect."""
    late = LATER + timedelta(seconds=1)

    assert owning.claim(admitted(), "host", "a", late) is None
    assert owning.start(claimed(), "a", late) is Refusal.TOO_LATE
    ended = accepted(owning.expire(admitted(), late))
    assert ended.execution.state is State.FAILED
    assert owning.expire(started(), late) is None


def test_a_start_whose_answer_was_lost_is_one_start() -> None:
    """S7, I26: asking again with the same token is not a second start."""
    execution = started()

    again = accepted(owning.start(execution, "a", NOW))

    assert again == Decision(execution)


def test_another_token_means_lost() -> None:
    """Law 4: stop, write nothing, release nothing."""
    execution = started()

    assert owning.start(execution, "b", NOW) is Refusal.LOST
    assert owning.finish(execution, "b", DONE, NOW) is Refusal.LOST
    assert owning.release(execution, "b", NOW) is Refusal.LOST
    assert recovery.unconfirmed(execution, "b", BROKE, NOW) is Refusal.LOST


def test_a_claim_is_given_back_before_its_start_only() -> None:
    """S24: what has started is never released while it may still run."""
    back = accepted(owning.release(claimed(), "a", NOW))

    assert back.execution.state is State.ADMITTED
    assert owning.release(started(), "a", NOW) is Refusal.LOST


def test_a_terminal_state_is_never_overwritten() -> None:
    """I30: the first terminal state stays; the same result again is no news."""
    ended = accepted(owning.finish(started(), "a", DONE, NOW)).execution

    assert owning.finish(ended, "a", BROKE, NOW) is Refusal.LOST
    assert owning.finish(ended, "a", DONE, NOW) == Decision(ended)


def test_the_real_outcome_of_its_own_attempt_ends_unknown() -> None:
    """I28: a matching observation of the original operation is evidence."""
    lost = accepted(recovery.recover(started(), NOW)).execution

    found = accepted(owning.finish(lost, "a", DONE, NOW))

    assert lost.state is State.UNKNOWN
    assert found.execution.state is State.COMPLETED
    assert owning.finish(lost, "b", DONE, NOW) is Refusal.LOST


@pytest.mark.parametrize("effect", list(EffectClass))
def test_a_call_without_start_record_is_free_again(effect: EffectClass) -> None:
    """S10: never UNKNOWN, whatever the effect class."""
    back = accepted(recovery.recover(claimed(effect), NOW)).execution

    assert back.state is State.ADMITTED
    assert owning.claim(back, "other", "b", NOW) is not None


@pytest.mark.parametrize(
    ("effect", "state", "resume"),
    [
        (EffectClass.READ, State.ADMITTED, Resume.RUN),
        (EffectClass.IDEMPOTENT, State.ADMITTED, Resume.RUN),
        (EffectClass.QUERYABLE, State.ADMITTED, Resume.LOOKUP),
        (EffectClass.ONCE, State.UNKNOWN, Resume.RUN),
    ],
)
def test_the_effect_class_decides_after_the_owner_died(
    effect: EffectClass, state: State, resume: Resume
) -> None:
    """Design section 7: the four recoveries after a start."""
    recovered = accepted(recovery.recover(started(effect), NOW)).execution

    assert (recovered.state, recovered.resume) == (state, resume)


@covers("R209")
@pytest.mark.parametrize(
    ("effect", "state", "resume"),
    [
        (EffectClass.READ, State.FAILED, Resume.RUN),
        (EffectClass.IDEMPOTENT, State.ADMITTED, Resume.RUN),
        (EffectClass.QUERYABLE, State.ADMITTED, Resume.LOOKUP),
        (EffectClass.ONCE, State.UNKNOWN, Resume.RUN),
    ],
)
def test_the_effect_class_decides_after_an_unconfirmed_end(
    effect: EffectClass, state: State, resume: Resume
) -> None:
    """R209: an exception says nothing about an effect outside."""
    decided = accepted(recovery.unconfirmed(started(effect), "a", BROKE, NOW)).execution

    assert (decided.state, decided.resume) == (state, resume)


def test_an_idempotent_tool_is_not_tried_for_ever() -> None:
    """Three attempts with growing delay, then FAILED; never UNKNOWN."""
    execution, delays = started(EffectClass.IDEMPOTENT), []
    for _ in range(recovery.MAX_ATTEMPTS - 1):
        back = accepted(recovery.unconfirmed(execution, "a", BROKE, NOW)).execution
        delays.append((back.available_at - NOW).total_seconds())
        execution = replace(back, state=State.STARTED, attempt=back.attempt + 1)

    last = accepted(recovery.unconfirmed(execution, "a", BROKE, NOW))

    assert delays == [1, 2]
    assert last.execution.state is State.FAILED
    assert last.result == BROKE


def test_a_tool_that_kills_its_workers_is_stopped() -> None:
    """An out-of-memory tool does not walk through the pool for ever."""
    execution = replace(started(EffectClass.READ), attempt=recovery.MAX_DEATHS)

    ended = accepted(recovery.recover(execution, NOW))

    assert ended.execution.state is State.FAILED


def test_a_lookup_that_found_nothing_allows_another_start() -> None:
    """I26: the second start names the proof that the first did not happen."""
    waiting = accepted(recovery.recover(started(EffectClass.QUERYABLE), NOW)).execution
    owned = accepted(owning.claim(waiting, "other", "b", NOW)).execution

    cleared = accepted(recovery.never_happened(owned, "b", NOW)).execution
    begun = accepted(owning.start(cleared, "b", NOW))

    assert begun.execution.attempt == 2
    assert begun.news[0].payload["reason"] == "lookup found nothing"


def test_a_lookup_that_cannot_say_is_unknown_and_one_that_breaks_is_asked_again() -> None:
    """Design section 7: UNKNOWN only if the lookup cannot say."""
    waiting = accepted(recovery.recover(started(EffectClass.QUERYABLE), NOW)).execution
    owned = accepted(owning.claim(waiting, "other", "b", NOW)).execution

    assert accepted(recovery.unsure(owned, "b", NOW)).execution.state is State.UNKNOWN
    again = accepted(recovery.lookup_failed(owned, "b", NOW)).execution
    assert (again.state, again.resume) == (State.ADMITTED, Resume.LOOKUP)
    often = replace(owned, lookups=recovery.MAX_LOOKUPS - 1)
    assert accepted(recovery.lookup_failed(often, "b", NOW)).execution.state is State.UNKNOWN


def test_illegal_moves_are_refused() -> None:
    """The table says what is legal; terminal states have no way out."""
    assert all(not LEGAL[State(end)] for end in ("COMPLETED", "FAILED", "CANCELLED"))
    with pytest.raises(ValueError, match="cannot become"):
        move(admitted(), State.STARTED)


STEPS = ("claim", "start", "finish", "fail", "die", "cancel", "admit", "lookup_none", "zombie")


@given(st.sampled_from(EffectClass), st.lists(st.sampled_from(STEPS), max_size=30))
def test_no_order_of_events_breaks_the_laws_of_executions(
    effect: EffectClass, steps: list[str]
) -> None:
    """I26, I28, I29: over any order of commands, owners, deaths and zombies."""
    order = command(effect)
    execution: Execution | None = None
    starts, sequence, tokens = 0, 0, ["none"]
    for number, step in enumerate(steps):
        now = NOW + timedelta(seconds=30 * number) / 10
        decision = _take(step, execution, order, tokens, now)
        if decision is None:
            continue
        starts += any(news.kind is UpdateKind.STARTED for news in decision.news)
        before, execution = execution, decision.execution
        sequence += len(decision.news)
        assert before is None or before.state is execution.state or not before.is_terminal
        assert execution.attempt == starts
        assert execution.state is not State.UNKNOWN or starts > 0
        assert execution.state is not State.UNKNOWN or effect in {
            EffectClass.ONCE,
            EffectClass.QUERYABLE,
        }
        if effect is EffectClass.ONCE:
            assert starts <= 1
        if execution.is_tombstone:
            assert starts == 0


def _take(
    step: str, known: Execution | None, order: Execute, tokens: list[str], now: datetime
) -> Decision | None:
    answer: Decision | Refusal | None
    if step == "admit":
        answer = admission.admit(known, order, now, runnable=True).decision
    elif step == "cancel":
        answer = admission.cancel(known, cancel_of(order), now).decision
    elif known is None:
        return None
    elif step == "claim":
        tokens.append(str(len(tokens)))
        answer = owning.claim(known, "host", tokens[-1], now)
    elif step == "start":
        clear = known.resume is Resume.RUN
        answer = owning.start(known, tokens[-1], now) if clear else None
    elif step == "finish":
        answer = owning.finish(known, tokens[-1], DONE, now)
    elif step == "zombie":
        answer = owning.finish(known, tokens[max(len(tokens) - 2, 0)], DONE, now)
    elif step == "fail":
        answer = recovery.unconfirmed(known, tokens[-1], BROKE, now)
    elif step == "lookup_none":
        looks = known.resume is Resume.LOOKUP
        answer = recovery.never_happened(known, tokens[-1], now) if looks else None
    else:
        answer = recovery.recover(known, now)
    return answer if isinstance(answer, Decision) else None
