"""How Python functions are run and what their ends mean."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.ids import new_id
from hands_app.contract.messages import ExecutionResult, ExecutionState, Origin
from hands_app.contract.strict_json import MARKER, canonical
from hands_app.contract.tools import (
    NeverHappened,
    Tool,
    ToolCancelled,
    ToolContext,
    ToolError,
    Unsure,
    tool,
)
from hands_app.executors.callable import CallableExecutor
from hands_app.worker.bodies import MAX_CONTENT_BYTES, Bodies
from hands_app.worker.ports import Call, Confirmed, Unconfirmed
from tests.covers import covers, poses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hands_app.worker.ports import Outcome


@pytest.fixture(scope="module")
def executor() -> Iterator[CallableExecutor]:
    """Open an executor."""
    opened = CallableExecutor()
    yield opened
    opened.close()


def call(described: Tool, context: ToolContext | None = None, **arguments: Any) -> Call:
    """Make a call ready."""
    origin = Origin(namespace="n", session_id="s", thread_id="t", turn_id=new_id("turn_"))
    given = context or ToolContext(execution_key=new_id("exe_"), origin=origin)
    return Call(described, described.call_arguments(arguments, given), given, arguments)


def state_of(outcome: Outcome) -> str:
    """Name what the outcome says."""
    if isinstance(outcome, Confirmed):
        return outcome.result.state.value
    assert outcome.failure.error is not None
    return f"unconfirmed {outcome.failure.error.code}"


def content_of(outcome: Outcome) -> Any:
    """Return the content of a completed call."""
    assert isinstance(outcome, Confirmed)
    assert outcome.result.state is ExecutionState.COMPLETED
    return outcome.result.content


async def add_later(a: int, b: int) -> int:
    """Add on the loop."""
    await asyncio.sleep(0)
    return a + b


def add(a: int, b: int) -> int:
    """Add in a thread."""
    return a + b


@covers("R209")
@pytest.mark.parametrize("function", [add, add_later])
def test_sync_and_async_functions_complete(
    executor: CallableExecutor, function: Callable[..., Any]
) -> None:
    """R209: the content is what the function returned."""
    assert content_of(executor.run(call(tool(function), a=1, b=2))) == 3


@poses("S15")
def test_sync_functions_run_beside_the_loop(executor: CallableExecutor) -> None:
    """S15: a blocking tool does not hold up async ones."""
    entered, released = threading.Event(), threading.Event()

    @tool
    def block() -> None:
        entered.set()
        released.wait(10)

    blocked = threading.Thread(target=executor.run, args=(call(block),))
    blocked.start()
    assert entered.wait(10)

    assert content_of(executor.run(call(tool(add_later), a=1, b=1))) == 2
    released.set()
    blocked.join(10)


def _raise(error: BaseException) -> Callable[[], int]:
    def broken() -> int:
        raise error

    return broken


def _empty() -> int:
    return None  # type: ignore[return-value]


def _suspended() -> int:
    return add_later(1, 2)  # type: ignore[return-value]


def _generator() -> int:
    return (number for number in [1])  # type: ignore[return-value]


@covers("R209")
@pytest.mark.parametrize(
    ("function", "state"),
    [
        (_raise(ToolError("no such place", code="NO_PLACE")), "FAILED"),
        (_raise(ValueError("canary-secret")), "unconfirmed EXCEPTION"),
        (_raise(SystemExit(1)), "unconfirmed EXCEPTION"),
        (_raise(KeyboardInterrupt()), "unconfirmed EXCEPTION"),
        (_raise(TimeoutError()), "unconfirmed EXCEPTION"),
        (_empty, "unconfirmed EMPTY"),
        (_suspended, "unconfirmed SUSPENDED"),
        (_generator, "unconfirmed SUSPENDED"),
    ],
)
def test_what_is_no_regular_return_stays_unconfirmed(
    executor: CallableExecutor, function: Callable[[], int], state: str
) -> None:
    """R209: only what the tool declares is certain."""
    outcome = executor.run(call(tool(deadline=30)(function)))

    assert state_of(outcome) == state
    assert "canary-secret" not in repr(outcome)


@covers("R210")
def test_a_binding_may_say_that_exceptions_are_failures(executor: CallableExecutor) -> None:
    """R210: a choice of the tool's author, and no retry follows from it."""
    described = tool(exceptions="failed")(_raise(ValueError()))

    assert state_of(executor.run(call(described))) == "FAILED"


@covers("R209")
def test_a_declared_failure_keeps_code_text_and_metadata(executor: CallableExecutor) -> None:
    """R209: the model gets what the tool said."""
    error = ToolError("no such place", code="NO_PLACE", metadata={"tried": ["a"]})

    outcome = executor.run(call(tool(_raise(error))))

    assert isinstance(outcome, Confirmed)
    assert outcome.result.error is not None
    assert (outcome.result.error.code, outcome.result.error.message) == (
        "NO_PLACE",
        "no such place",
    )
    assert outcome.result.metadata == {"tried": ["a"]}


@covers("R209")
def test_a_result_object_travels_as_it_is(executor: CallableExecutor) -> None:
    """R209: a tool may give content and metadata itself."""
    made = ExecutionResult(state=ExecutionState.COMPLETED, content={"a": 1}, metadata={"unit": "m"})

    @tool
    def detailed() -> ExecutionResult:
        return made

    assert executor.run(call(detailed)) == Confirmed(made)


@covers("R211")
def test_after_a_missed_deadline_the_real_outcome_is_evidence(executor: CallableExecutor) -> None:
    """R211: a thread cannot be stopped, so its end is taken in when it comes."""
    released = threading.Event()

    @tool(deadline=0.05)
    def slow() -> str:
        released.wait(10)
        return "done after all"

    outcome = executor.run(call(slow))

    assert isinstance(outcome, Unconfirmed)
    assert state_of(outcome) == "unconfirmed DEADLINE"
    assert outcome.late is not None
    released.set()
    assert content_of(outcome.late()) == "done after all"


def test_an_async_tool_is_stopped_at_its_deadline(executor: CallableExecutor) -> None:
    """The coroutine is cancelled; what it did until then is unconfirmed."""
    stopped = threading.Event()

    @tool(deadline=0.05)
    async def slow() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    outcome = executor.run(call(slow))

    assert state_of(outcome) == "unconfirmed DEADLINE"
    assert stopped.wait(10)


def test_a_tool_confirms_a_cancel_only_when_it_was_asked(executor: CallableExecutor) -> None:
    """Requested and confirmed are two facts."""
    asked = call(tool(_raise(ToolCancelled())))
    asked.context.cancelled.set()

    assert state_of(executor.run(asked)) == "CANCELLED"
    assert state_of(executor.run(call(tool(_raise(ToolCancelled()))))) == "unconfirmed EXCEPTION"


@poses("C13", "C14")
@pytest.mark.parametrize(
    ("returned", "content"),
    [
        ("a\0b", f"a{MARKER}b"),
        ({"k\ud83c": ["\ud83c\udf78"]}, {f"k{MARKER}": ["🍸"]}),
        (b"\x00\xff", "AP8="),
        ((1, 2.0, None), [1, 2, None]),
    ],
)
def test_text_that_no_store_keeps_is_replaced_by_the_marker(
    executor: CallableExecutor, returned: object, content: object
) -> None:
    """C13, C14: the Turn goes on, and the content passes every strict entrance."""

    @tool
    def odd() -> object:
        return returned

    found = content_of(executor.run(call(odd)))

    assert found == content
    assert canonical(found)


@poses("C15")
@pytest.mark.parametrize("returned", [2**60, float("nan"), -0.0, object(), {1: {2: {3}}}])
def test_a_value_that_json_cannot_hold_is_a_failure_that_says_so(
    executor: CallableExecutor, returned: object
) -> None:
    """C15: the tool ran, its value is lost, and nothing is in doubt."""

    @tool
    def odd() -> object:
        return returned

    outcome = executor.run(call(odd))

    if returned == {1: {2: {3}}}:
        assert content_of(outcome) == {"1": {"2": [3]}}
        return
    assert isinstance(outcome, Confirmed)
    assert outcome.result.error is not None
    assert outcome.result.error.code == "RESULT_INVALID"


@poses("C17")
@pytest.mark.parametrize("returned", ["x" * 50_000_000, ["é" * 1000] * 1000, b"\0" * 2_000_000])
def test_a_result_that_is_too_large_is_described(
    executor: CallableExecutor, returned: object
) -> None:
    """C17: 50 MB of output become a description that fits an envelope, without a common store."""

    @tool
    def large() -> object:
        return returned

    outcome = executor.run(call(large))
    assert isinstance(outcome, Confirmed)
    fitted = Bodies(None).fitted(outcome.result, None)

    found: Any = fitted.content
    assert fitted.body is None
    assert found["truncated"] is True
    assert found["bytes"] > MAX_CONTENT_BYTES
    assert len(canonical(found)) < 200_000


@poses("C17")
def test_a_result_that_is_too_deep_is_a_failure_that_says_so(executor: CallableExecutor) -> None:
    """C17: 20,000 levels do not reach a recursive function of ours."""

    @tool
    def deep() -> object:
        nested: list[object] = []
        for _ in range(20_000):
            nested = [nested]
        return nested

    assert state_of(executor.run(call(deep))) in {"FAILED", "unconfirmed EXCEPTION"}


def test_lookups_say_what_happened(executor: CallableExecutor) -> None:
    """A lookup takes the execution key and the arguments as sent."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def find(execution_key: str, arguments: dict[str, Any]) -> object:
        asked.append((execution_key, arguments))
        return {1: NeverHappened(), 2: Unsure(), 3: "receipt", 4: None}[arguments["number"]]

    @tool(effect="queryable", lookup=find)
    def order(number: int) -> str:
        return str(number)

    found = [executor.look_up(call(order, number=number)) for number in (1, 2, 3, 4)]

    assert found[:2] == [NeverHappened(), Unsure()]
    assert isinstance(found[2], ExecutionResult)
    assert found[2].content == "receipt"
    assert found[3] == Unsure()
    assert asked[0][0].startswith("exe_")
