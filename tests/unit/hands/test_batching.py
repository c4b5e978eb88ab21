"""What a batch does next, as a function of its row and its children's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hands_app.contract.binding import BatchMode, BatchPolicy, EffectClass, ToolBinding
from hands_app.contract.ids import new_id
from hands_app.contract.messages import ExecutionResult, ExecutionState, UpdateKind
from hands_app.machine.batching import MOST_CONTENT, Child, Seen, Step, step
from hands_app.machine.execution import Execution, State, failed, unknown
from tests.covers import covers

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DONE = ExecutionResult(state=ExecutionState.COMPLETED, content="done")
BROKE = failed("NO_PAPER", "the tray is empty")
TOOL = ToolBinding(name="send", parameters={}, route="hands")
ENDS = {
    State.COMPLETED: DONE,
    State.FAILED: BROKE,
    State.CANCELLED: failed("CANCELLED", "x").model_copy(
        update={"state": ExecutionState.CANCELLED}
    ),
    State.UNKNOWN: unknown("its worker died"),
}


def policy(mode: BatchMode = BatchMode.PARALLEL, bound: int = 2) -> BatchPolicy:
    """Make a policy over one tool."""
    return BatchPolicy(mode=mode, bound=bound, tools=(TOOL,))


def parent(**changes: Any) -> Execution:
    """Make a batch that has begun."""
    made = Execution(
        execution_id=new_id("exe_"),
        namespace="durable",
        route="hands",
        request_digest="sha256:" + "0" * 64,
        state=State.DIVIDED,
        effect=EffectClass.ONCE,
        binding_digest="sha256:" + "1" * 64,
        available_at=NOW,
        not_after=NOW + timedelta(minutes=5),
        admitted_at=NOW,
        attempt=1,
        started_at=NOW,
    )
    return replace(made, **changes)


def line(*seen: Seen | State) -> tuple[Child, ...]:
    """Make children: a `Seen` is recorded so, a `State` is an open one whose execution stands."""
    return tuple(_child(number, each) for number, each in enumerate(seen))


def _child(number: int, each: Seen | State) -> Child:
    child = Child(number, str(number), f"exe_{number}", "send", Seen.WAITING)
    if isinstance(each, State):
        return replace(child, seen=Seen.OPEN, state=each, result=ENDS.get(each))
    if each in {Seen.WAITING, Seen.OPEN}:
        return replace(child, seen=each, state=State.STARTED if each is Seen.OPEN else None)
    state = State(each.value)
    return replace(child, seen=each, state=state, result=ENDS[state])


def taken(found: Step | None) -> Step:
    """Return a step that has to be there."""
    assert found is not None
    return found


def ordinals(children: tuple[Child, ...]) -> list[int]:
    """Name children."""
    return [child.ordinal for child in children]


@covers("R203")
def test_a_parallel_batch_begins_as_many_as_its_bound_says() -> None:
    """The start record comes with the first children, and no more than two are under way."""
    fresh = parent(attempt=0, started_at=None)

    found = taken(step(fresh, policy(), line(*[Seen.WAITING] * 3), NOW))

    assert ordinals(found.admit) == [0, 1]
    assert found.decision is not None
    assert (found.decision.execution.attempt, found.decision.execution.started_at) == (1, NOW)
    assert [news.kind for news in found.decision.news] == [UpdateKind.STARTED]


@covers("R203")
def test_an_ordered_batch_begins_one_at_a_time() -> None:
    """Whatever its bound says."""
    ordered = policy(BatchMode.ORDERED, bound=9)

    first = taken(step(parent(), ordered, line(Seen.WAITING, Seen.WAITING), NOW))
    then = taken(step(parent(), ordered, line(State.COMPLETED, Seen.WAITING), NOW))

    assert ordinals(first.admit) == [0]
    assert ordinals(then.admit) == [1]
    assert step(parent(), ordered, line(Seen.OPEN, Seen.WAITING), NOW) is None


@covers("R203")
@pytest.mark.parametrize("bad", [State.FAILED, State.CANCELLED, State.UNKNOWN])
def test_an_ordered_batch_stops_at_the_first_that_is_not_completed(bad: State) -> None:
    """What comes behind is never admitted, and the result says so."""
    children = line(Seen.COMPLETED, bad, Seen.WAITING)

    found = taken(step(parent(), policy(BatchMode.ORDERED), children, NOW))

    assert found.admit == ()
    assert states(found) == ["COMPLETED", bad.value, "NOT_STARTED"]


@covers("R203")
@pytest.mark.parametrize("bad", [State.FAILED, State.UNKNOWN])
def test_a_parallel_batch_goes_on_whatever_becomes_of_one(bad: State) -> None:
    """A failure or a doubt frees its place for the next and blocks nothing else."""
    found = taken(step(parent(), policy(), line(bad, Seen.OPEN, Seen.WAITING), NOW))

    assert ordinals(found.admit) == [2]
    assert found.decision is not None
    assert found.decision.execution.state is State.DIVIDED


@covers("R204")
def test_nothing_is_admitted_after_a_cancel() -> None:
    """Open children are told, waiting ones stay away, the end comes when all have ended."""
    cancelled = parent(cancel_requested_at=NOW)

    found = taken(step(cancelled, policy(), line(State.COMPLETED, Seen.OPEN, Seen.WAITING), NOW))
    ended = taken(
        step(cancelled, policy(), line(Seen.COMPLETED, State.CANCELLED, Seen.WAITING), NOW)
    )

    assert (found.admit, ordinals(found.cancel)) == ((), [1])
    assert states(ended) == ["COMPLETED", "CANCELLED", "NOT_STARTED"]
    assert verdict(ended) == (State.FAILED, "PARTIAL")


def test_a_cancel_before_anything_ran_is_a_cancel() -> None:
    """CANCELLED says that no effect exists, so it needs that no child ran to an end."""
    cancelled = parent(cancel_requested_at=NOW)

    found = taken(step(cancelled, policy(), line(State.CANCELLED, Seen.WAITING), NOW))

    assert verdict(found) == (State.CANCELLED, "CANCELLED")


def test_a_child_is_asked_to_stop_once() -> None:
    """A wish that its execution has recorded is not repeated."""
    cancelled = parent(cancel_requested_at=NOW)
    (child,) = line(Seen.OPEN)

    assert step(cancelled, policy(), (replace(child, cancel_asked=True),), NOW) is None


@covers("R205")
def test_each_end_is_told_by_call_and_execution() -> None:
    """Progress names the child, so that whoever replays it knows whose it is."""
    found = taken(step(parent(), policy(), line(State.COMPLETED, Seen.OPEN), NOW))

    assert found.decision is not None
    (news,) = found.decision.news
    assert news.kind is UpdateKind.PROGRESS
    assert news.payload["fraction"] == 0.5
    assert news.payload["data"] == {"callId": "0", "executionId": "exe_0", "state": "COMPLETED"}


@covers("R205")
def test_the_result_of_all_that_completed_names_each() -> None:
    """Content of every child, under its call and its execution."""
    found = taken(step(parent(), policy(), line(State.COMPLETED), NOW))

    assert verdict(found) == (State.COMPLETED, None)
    assert content(found) == {
        "mode": "parallel",
        "complete": True,
        "children": [
            {
                "callId": "0",
                "executionId": "exe_0",
                "tool": "send",
                "state": "COMPLETED",
                "content": "done",
            }
        ],
    }


def test_a_partial_result_says_so() -> None:
    """FAILED, since it did not do what was asked, with what every child came to."""
    found = taken(step(parent(), policy(), line(Seen.COMPLETED, State.FAILED), NOW))

    assert verdict(found) == (State.FAILED, "PARTIAL")
    children = content(found)["children"]
    assert isinstance(children, list)
    assert content(found)["complete"] is False
    assert children[1] == {
        "callId": "1",
        "executionId": "exe_1",
        "tool": "send",
        "state": "FAILED",
        "error": {"code": "NO_PAPER", "message": "the tray is empty"},
    }


def test_the_words_of_a_partial_result_are_enough_for_a_model() -> None:
    """Of a failure a model reads the text alone, so it says what every call came to."""
    some = taken(step(parent(), policy(), line(Seen.COMPLETED, State.FAILED), NOW))
    large = DONE.model_copy(update={"content": "x" * 20_000})
    child = replace(line(Seen.COMPLETED)[0], result=large)
    many = taken(step(parent(), policy(), (child, line(Seen.OPEN, State.FAILED)[1]), NOW))

    assert "1 COMPLETED, 1 FAILED" in words(some)
    assert '"content":"done"' in words(some)
    assert "the tray is empty" in words(some)
    assert words(many).endswith("; 0 COMPLETED, 1 FAILED")


def test_a_child_in_doubt_puts_the_batch_in_doubt_until_there_is_evidence() -> None:
    """UNKNOWN says so; the last child's evidence ends it, and admits nothing more."""
    doubt = taken(step(parent(), policy(), line(Seen.COMPLETED, State.UNKNOWN), NOW))
    unsure = parent(state=State.UNKNOWN, finished_at=NOW)
    first, waiting = line(Seen.UNKNOWN, Seen.WAITING)
    known = replace(first, state=State.COMPLETED, result=DONE)

    still = step(unsure, policy(), line(Seen.UNKNOWN), NOW)
    solved = taken(step(unsure, policy(BatchMode.ORDERED), (known, waiting), NOW))

    assert verdict(doubt) == (State.UNKNOWN, "UNCERTAIN")
    assert still is None
    assert (verdict(solved), solved.admit) == ((State.FAILED, "PARTIAL"), ())


def test_a_batch_that_nobody_could_begin_in_time_has_no_effect() -> None:
    """It ends as any execution does that was never started (S8)."""
    late = parent(attempt=0, started_at=None, not_after=NOW - timedelta(seconds=1))

    found = taken(step(late, policy(), line(Seen.WAITING), NOW))

    assert (verdict(found), found.admit) == ((State.FAILED, "NOT_STARTED"), ())


def test_contents_that_are_too_much_for_one_result_are_named_by_their_size() -> None:
    """States stay, so nothing is hidden."""
    large = DONE.model_copy(update={"content": "x" * MOST_CONTENT})
    child = replace(line(State.COMPLETED)[0], result=large)

    found = taken(step(parent(), policy(), (child,), NOW))

    children = content(found)["children"]
    assert isinstance(children, list)
    told = children[0]
    assert isinstance(told, dict)
    assert (told["state"], told["contentBytes"]) == ("COMPLETED", MOST_CONTENT + 2)
    assert "content" not in told


@given(
    st.lists(st.sampled_from([*Seen, *ENDS]), min_size=1, max_size=8),
    st.sampled_from(BatchMode),
    st.integers(1, 4),
    st.booleans(),
)
@covers("R203", "R204")
def test_no_step_breaks_the_bound_or_forgets_the_end(
    seen: list[Seen | State], mode: BatchMode, bound: int, cancel: bool
) -> None:
    """Whatever stands in the rows: the bound holds, and something is always still to come."""
    batch = parent(cancel_requested_at=NOW if cancel else None)
    children = line(*seen)
    already = sum(child.seen is Seen.OPEN and child.state is State.STARTED for child in children)

    found = step(batch, policy(mode, bound), children, NOW)

    most = 1 if mode is BatchMode.ORDERED else bound
    admitted = 0 if found is None else len(found.admit)
    assert admitted == 0 or (not cancel and already + admitted <= most)
    ended = found is not None and found.decision is not None and found.decision.result is not None
    assert ended == (already == 0 and admitted == 0)


def verdict(found: Step) -> tuple[State, str | None]:
    """How the batch ended."""
    assert found.decision is not None
    assert found.decision.result is not None
    error = found.decision.result.error
    return found.decision.execution.state, None if error is None else error.code


def words(found: Step) -> str:
    """The text of its error."""
    assert found.decision is not None
    assert found.decision.result is not None
    assert found.decision.result.error is not None
    return found.decision.result.error.message


def content(found: Step) -> dict[str, JsonValue]:
    """What its result says."""
    assert found.decision is not None
    assert found.decision.result is not None
    assert isinstance(found.decision.result.content, dict)
    return found.decision.result.content


def states(found: Step) -> list[JsonValue]:
    """The state of each child in the result."""
    children = content(found)["children"]
    assert isinstance(children, list)
    return [child["state"] for child in children if isinstance(child, dict)]
