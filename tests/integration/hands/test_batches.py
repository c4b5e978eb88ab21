"""A batch in a whole Hands process: children of their own in the ledger, one result (R203-R205)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from hands_app.contract.batch import batch, child_id
from hands_app.contract.errors import Forbidden
from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionState
from hands_app.contract.tools import (
    Tool,
    ToolContext,
    ToolError,
)
from hands_app.contract.wire import encode
from hands_app.ledger.purging import count, purge
from hands_app.ledger.tables import execution
from hands_app.worker.gate import same_house
from tests.covers import covers
from tests.integration.hands.examples import ROUTES, cancel, execute, query, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.messages import Command, Execute, ExecutionResult
    from hands_app.ledger.engine import Database
    from hands_app.worker.configuration import Configuration


class Work:
    """A tool whose runs a test can watch and hold."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str, str]] = []
        self.go = threading.Event()
        self.go.set()

    def tool(self, effect: str = "once", name: str = "send") -> Tool:
        """Make it."""

        @remote(effect=effect, name=name)
        def send(text: str, context: ToolContext) -> str:
            self.ran.append((text, context.execution_key, context.origin.turn_id))
            self.go.wait(20)
            if text == "bad":
                message = "refused"
                raise ToolError(message, code="NO_PAPER")
            if text == "worse":
                raise ValueError
            return f"sent {text}"

        return send

    @property
    def texts(self) -> list[str]:
        """What ran, in order."""
        return [text for text, _, _ in self.ran]


@pytest.fixture
def work() -> Work:
    """Give a tool that nothing holds."""
    return Work()


def _lines(result: ExecutionResult) -> list[Any]:
    assert isinstance(result.content, dict)
    lines = result.content["children"]
    assert isinstance(lines, list)
    return lines


def _states(result: ExecutionResult) -> list[str]:
    return [line["state"] for line in _lines(result)]


def _items(*texts: str) -> dict[str, Any]:
    return {"items": [{"text": text} for text in texts]}


@covers("R177", "R203", "R205")
def test_each_child_is_an_execution_of_its_own(
    configuration: Configuration, mailbox: Mailbox, database: Database, work: Work
) -> None:
    """Rows with the batch's origin; the Brain hears of the batch alone, which names them all."""
    many = batch(work.tool(), name="send_all", bound=2)

    with serving(configuration, mailbox, many) as host:
        command = call(host, many, **_items("a", "b", "c"))
        result = mailbox.result(command)

    assert result.state is ExecutionState.COMPLETED
    ids = [child_id(command.execution_id, ordinal) for ordinal in range(3)]
    assert [line["executionId"] for line in _lines(result)] == ids
    assert [line["content"] for line in _lines(result)] == ["sent a", "sent b", "sent c"]
    assert {(key, turn) for _, key, turn in work.ran} == {
        (each, command.origin.turn_id) for each in ids
    }
    kinds = ["admitted", "started", "progress", "progress", "progress", "result"]
    assert mailbox.kinds(command) == kinds
    assert {update.execution_id for update in mailbox.taken} == {command.execution_id}
    with database.read() as connection:
        rows = connection.execute(select(execution.c.execution_id, execution.c.origin)).all()
    assert {row.execution_id for row in rows} == {command.execution_id, *ids}
    assert len({row.origin for row in rows}) == 1


def test_a_manifest_may_name_several_tools(
    configuration: Configuration, mailbox: Mailbox, work: Work
) -> None:
    """Each entry names its tool; what fails its own schema is that child's failure alone."""
    many = batch(work.tool(), work.tool("read", "look"), name="errands", mode="parallel")
    calls = [
        {"tool": "look", "arguments": {"text": "a"}},
        {"tool": "send", "arguments": {"words": "b"}},
    ]

    with serving(configuration, mailbox, many) as host:
        result = mailbox.result(call(host, many, calls=calls))

    assert (result.state, _states(result)) == (ExecutionState.FAILED, ["COMPLETED", "FAILED"])
    assert [line["tool"] for line in _lines(result)] == ["look", "send"]
    assert _lines(result)[1]["error"]["code"] == "INVALID_ARGUMENTS"


@covers("R203")
def test_an_ordered_batch_ends_at_the_first_failure(
    configuration: Configuration, mailbox: Mailbox, work: Work
) -> None:
    """Nothing behind it is admitted."""
    many = batch(work.tool(), name="send_all", mode="ordered")

    with serving(configuration, mailbox, many) as host:
        result = mailbox.result(call(host, many, **_items("a", "bad", "c")))

    assert work.texts == ["a", "bad"]
    assert _states(result) == ["COMPLETED", "FAILED", "NOT_STARTED"]


def test_a_child_in_doubt_blocks_no_other(
    configuration: Configuration, mailbox: Mailbox, work: Work
) -> None:
    """The batch says that it does not know, once everything else has run."""
    many = batch(work.tool(), name="send_all", bound=1)

    with serving(configuration, mailbox, many) as host:
        result = mailbox.result(call(host, many, **_items("worse", "b")))

    assert (result.state, _states(result)) == (ExecutionState.UNKNOWN, ["UNKNOWN", "COMPLETED"])
    assert work.texts == ["worse", "b"]


def test_a_batch_needs_no_slot_of_its_own(
    configuration: Configuration, mailbox: Mailbox, work: Work
) -> None:
    """One slot runs a batch of many: the batch itself holds none while it waits."""
    many = batch(work.tool(), name="send_all", bound=4)

    with serving(configuration, mailbox, many, slots=1) as host:
        result = mailbox.result(call(host, many, **_items("a", "b", "c")))

    assert result.state is ExecutionState.COMPLETED


@covers("R204")
def test_no_child_is_admitted_after_a_cancel(
    configuration: Configuration, mailbox: Mailbox, work: Work
) -> None:
    """What runs is told and ends as it says; what waits never comes to be."""
    work.go.clear()
    many = batch(work.tool(), name="send_all", bound=1)

    with serving(configuration, mailbox, many) as host:
        command = call(host, many, **_items("a", "b", "c"))
        until(lambda: work.texts == ["a"], "the first child")
        host.control(encode(cancel(command)))
        work.go.set()
        result = mailbox.result(command)

    assert work.texts == ["a"]
    assert _states(result) == ["COMPLETED", "NOT_STARTED", "NOT_STARTED"]
    assert (result.state, result.error and result.error.code) == (ExecutionState.FAILED, "PARTIAL")


@covers("R203", "R204")
def test_another_host_goes_on_with_the_original_children(
    configuration: Configuration, mailbox: Mailbox, database: Database, work: Work
) -> None:
    """A host dies in the midst of a child: its own record decides, and the rest follows."""
    many = batch(work.tool("idempotent"), name="send_all", mode="ordered")
    with plan({"hands.effect.after_done": _die_once()}), serving(configuration, mailbox, many) as h:
        command = call(h, many, **_items("a", "b"))
        until(lambda: work.texts, "the first child")
    mailbox.taken.clear()

    with serving(configuration, mailbox, many):
        result = mailbox.result(command)

    ids = [child_id(command.execution_id, ordinal) for ordinal in range(2)]
    assert result.state is ExecutionState.COMPLETED
    assert [key for _, key, _ in work.ran] == [ids[0], ids[0], ids[1]]


def _die_once() -> Callable[[str], None]:
    died: list[str] = []

    def die(point: str) -> None:
        if not died:
            died.append(point)
            raise RuntimeError

    return die


@covers("R205")
def test_a_host_authorises_every_child_of_the_manifest(
    configuration: Configuration, mailbox: Mailbox, database: Database, work: Work
) -> None:
    """One child that its policy refuses, and nothing of the batch is admitted."""
    many = batch(work.tool(), name="send_all")
    house = same_house("durable", ROUTES)
    asked: list[str] = []

    def policy(command: Command) -> None:
        house(command)
        asked.append(command.execution_id)
        if command.kind == "execute" and command.arguments == {"text": "secret"}:
            raise Forbidden

    command = execute(many.binding, _items("a", "secret"))
    with serving(configuration, mailbox, many) as host:
        host.gate._policy = policy
        with pytest.raises(Forbidden):
            host.execute(encode(command))

    ids = [child_id(command.execution_id, ordinal) for ordinal in range(2)]
    assert asked == [command.execution_id, *ids]
    assert work.ran == []
    with database.read() as connection:
        assert connection.execute(select(execution)).first() is None


@pytest.mark.parametrize(
    "arguments", [{}, {"items": []}, {"items": ["a"]}, {"items": [{}], "more": 1}, {"items": {}}]
)
def test_a_manifest_that_cannot_be_read_tells_the_model(
    configuration: Configuration, mailbox: Mailbox, arguments: dict[str, Any], work: Work
) -> None:
    """It ends as arguments do that fail a schema, without a start record."""
    many = batch(work.tool(), name="send_all")

    with serving(configuration, mailbox, many) as host:
        command = call(host, many, **arguments)
        result = mailbox.result(command)

    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    assert mailbox.kinds(command) == ["admitted", "result"]


def test_the_same_command_again_divides_nothing_twice(
    configuration: Configuration, mailbox: Mailbox, work: Work
) -> None:
    """A duplicate and a query tell again what is known."""
    many = batch(work.tool(), name="send_all")

    with serving(configuration, mailbox, many) as host:
        command: Execute = call(host, many, **_items("a", "b"))
        mailbox.result(command)
        mailbox.taken.clear()
        host.execute(encode(command))
        host.control(encode(query(command)))
        until(lambda: len(mailbox.of(command)) >= len(mailbox.kinds(command)) > 0, "the answer")
        mailbox.result(command)

    assert sorted(work.texts) == ["a", "b"]


def test_purging_a_batch_takes_its_children_along(
    configuration: Configuration, mailbox: Mailbox, database: Database, work: Work
) -> None:
    """The Brain knows the batch alone; nothing of its children's words stays (T49)."""
    many = batch(work.tool(), name="send_all")
    with serving(configuration, mailbox, many) as host:
        command = call(host, many, **_items("a", "b"))
        mailbox.result(command)
    assert count(database, [command.execution_id])["hands_execution"] == 3

    purge(database, [command.execution_id])

    with database.read() as connection:
        left = select(execution.c.execution_id).where(execution.c.arguments.is_not(None))
        assert connection.execute(left).all() == []
