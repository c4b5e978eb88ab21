"""A whole Hands process: what becomes of each way in which a tool may end."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Execute, ExecuteByReference, ExecutionState
from hands_app.contract.strict_json import canonical, loads
from hands_app.contract.tools import (
    NeverHappened,
    ToolCancelled,
    ToolContext,
    ToolError,
    Unsure,
)
from hands_app.contract.wire import encode
from hands_app.objects.files import FileStore
from tests.covers import covers
from tests.integration.hands.examples import cancel, execute, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.worker.configuration import Configuration


@covers("R209")
def test_an_exception_of_a_once_tool_is_unknown(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R209: nobody can say whether the effect happened."""

    @remote(effect="once")
    def broken() -> str:
        raise ValueError

    with serving(configuration, mailbox, broken) as host:
        assert mailbox.result(call(host, broken)).state is ExecutionState.UNKNOWN


@covers("R209")
def test_a_declared_failure_is_certain(configuration: Configuration, mailbox: Mailbox) -> None:
    """R209: `ToolError` is the tool's own word."""

    @remote(effect="once")
    def refuse() -> str:
        message = "closed today"
        raise ToolError(message)

    with serving(configuration, mailbox, refuse) as host:
        result = mailbox.result(call(host, refuse))

    assert result.state is ExecutionState.FAILED
    assert result.error is not None
    assert result.error.message == "closed today"


def test_an_idempotent_tool_runs_again_with_the_same_key(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """Design section 7: each attempt is told, the key never changes."""
    keys: list[tuple[str, int]] = []

    @remote(effect="idempotent")
    def flaky(context: ToolContext) -> str:
        keys.append((context.execution_key, context.attempt))
        if len(keys) == 1:
            raise ConnectionError
        return "at last"

    with serving(configuration, mailbox, flaky) as host:
        command = call(host, flaky)
        assert mailbox.result(command).content == "at last"

    assert keys == [(command.execution_id, 1), (command.execution_id, 2)]
    assert mailbox.kinds(command) == ["admitted", "started", "started", "result"]


@pytest.mark.parametrize(
    ("found", "state", "runs"),
    [
        ("a receipt", ExecutionState.COMPLETED, 1),
        (NeverHappened(), ExecutionState.COMPLETED, 2),
        (Unsure(), ExecutionState.UNKNOWN, 1),
    ],
)
def test_a_queryable_tool_is_looked_up(
    configuration: Configuration, mailbox: Mailbox, found: object, state: str, runs: int
) -> None:
    """Design section 7: found, run again, or UNKNOWN if the lookup cannot say."""
    ran: list[str] = []

    def look(execution_key: str, arguments: dict[str, object]) -> object:
        return found

    @remote(effect="queryable", lookup=look)
    def order(context: ToolContext) -> str:
        ran.append(context.execution_key)
        if len(ran) == 1:
            raise ConnectionError
        return "ordered"

    with serving(configuration, mailbox, order) as host:
        result = mailbox.result(call(host, order))

    assert result.state is state
    assert len(ran) == runs


def test_a_cancel_reaches_a_running_tool(configuration: Configuration, mailbox: Mailbox) -> None:
    """Requested, accepted, confirmed: the tool itself says that it stopped."""
    entered = threading.Event()

    @remote(effect="once")
    def patient(context: ToolContext) -> str:
        entered.set()
        context.cancelled.wait(20)
        raise ToolCancelled

    with (
        serving(configuration, mailbox, patient) as host,
        serving(configuration, mailbox, role="control") as controls,
    ):
        command = call(host, patient)
        assert entered.wait(20)
        controls.control(encode(cancel(command)))

        assert mailbox.result(command).state is ExecutionState.CANCELLED


def test_a_late_end_resolves_unknown(configuration: Configuration, mailbox: Mailbox) -> None:
    """I28: after a missed deadline the tool's own end is the evidence."""
    released = threading.Event()

    @remote(effect="once", deadline=0.1)
    def slow() -> str:
        released.wait(20)
        return "done after all"

    with serving(configuration, mailbox, slow) as host:
        command = call(host, slow)
        assert mailbox.result(command).state is ExecutionState.UNKNOWN
        released.set()
        until(lambda: mailbox.result(command).content == "done after all", "the evidence")


@covers("R192", "R193")
def test_a_host_reads_and_writes_the_store_that_it_is_told_of(
    configuration: Configuration, mailbox: Mailbox, tmp_path: Path
) -> None:
    """R192, R193: large arguments and results pass through a whole host, by reference."""

    @remote(effect="once")
    def echo(text: str) -> str:
        return text

    huge = "huge " * 300_000
    store = FileStore(tmp_path / "objects" / configuration.namespace)
    scope = new_id("ses_")
    plain = execute(echo.binding, {"text": huge})
    origin = plain.origin.model_copy(update={"scope": scope})
    command = Execute.of(
        execution_id=plain.execution_id,
        binding=echo.binding,
        arguments={"text": huge},
        origin=origin,
        not_after=plain.not_after,
        namespace=plain.namespace,
    )
    members = {name: getattr(command, name) for name in Execute.model_fields}
    named = store.put(scope, canonical({"text": huge}))
    large = ExecuteByReference(**{**members, "version": "2", "arguments": named})

    with serving(replace(configuration, objects_dir=tmp_path / "objects"), mailbox, echo) as host:
        host.execute(encode(large))
        result = mailbox.result(command)

    assert result.body is not None
    whole = loads(store.get(result.body, scope=scope))
    assert whole == {"content": huge, "metadata": {}}
