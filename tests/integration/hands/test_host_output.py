"""Output and signs of life from inside of tools, by a whole host."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from hands_app.contract.errors import Unavailable
from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionState
from hands_app.contract.output import Gap
from hands_app.contract.tools import ToolContext  # noqa: TC001 - read at run time by @tool
from hands_app.contract.wire import encode
from hands_app.ledger.commands import SqlCommands
from hands_app.ledger.tables import execution
from hands_app.worker import reports
from tests.covers import covers, poses
from tests.integration.hands.examples import until
from tests.integration.hands.hosting import Mailbox, call, remote, serving
from tests.integration.hands.reading import pages, question, read, whole

if TYPE_CHECKING:
    from hands_app.ledger.engine import Database
    from hands_app.worker.configuration import Configuration

TEXT = "a line with an umlaut ä\nand NUL \x00 in it\n"


@pytest.fixture
def commands(database: Database) -> SqlCommands:
    """Give the reading side of the ledger that the host writes."""
    return SqlCommands(database)


@covers("R190")
@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_writes_bytes_and_text_while_it_runs(
    configuration: Configuration, mailbox: Mailbox, commands: SqlCommands, *, is_async: bool
) -> None:
    """R190: both kinds of functions, before they end; the result says nothing of it."""
    go_on = threading.Event()

    def work(context: ToolContext) -> None:
        context.output(b"\xff\x00 binary\n")
        context.output(TEXT)
        print("and printed", 42, file=context.stream, flush=True)

    @remote(effect="once")
    async def slow_async(context: ToolContext) -> str:
        work(context)
        await asyncio.to_thread(go_on.wait, 30)
        return "done"

    @remote(effect="once")
    def slow(context: ToolContext) -> str:
        work(context)
        go_on.wait(30)
        return "done"

    told = b"\xff\x00 binary\n" + TEXT.encode() + b"and printed 42\n"
    tool = slow_async if is_async else slow
    with serving(configuration, mailbox, tool) as host:
        command = call(host, tool)
        until(lambda: read(commands, command).next == len(told), "all that was written")
        is_open = not read(commands, command).sealed
        go_on.set()
        result = mailbox.result(command)

    assert is_open
    assert result.content == "done"
    assert whole(commands, command) == told
    assert mailbox.kinds(command)[-2:] == ["output", "result"]
    assert mailbox.of(command)[-2].payload == {"available": len(told), "sealed": True}


@covers("R190")
def test_threads_of_a_tool_write_side_by_side(
    configuration: Configuration, mailbox: Mailbox, commands: SqlCommands
) -> None:
    """Lines of several threads are neither lost nor torn."""

    @remote(effect="once")
    def chorus(context: ToolContext) -> str:
        def sing(voice: int) -> None:
            for line in range(200):
                context.output(f"{voice} {line}\n")

        threads = [threading.Thread(target=sing, args=(voice,)) for voice in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "sung"

    with serving(configuration, mailbox, chorus) as host:
        command = call(host, chorus)
        mailbox.result(command)

    lines = whole(commands, command).decode().splitlines()
    assert sorted(lines) == sorted(f"{voice} {line}" for voice in range(5) for line in range(200))


@covers("R190")
@poses("C16")
def test_fifty_megabytes_are_cut_and_the_tool_goes_on(
    configuration: Configuration, mailbox: Mailbox, commands: SqlCommands
) -> None:
    """What is beyond the bound is one gap that says how much; the result arrives."""

    @remote(effect="once")
    def flood(context: ToolContext) -> str:
        context.output(b"x" * 50_000_000)
        context.output("and \ud800 more")
        return "went on"

    with serving(replace(configuration, output_bytes=300_000), mailbox, flood) as host:
        command = call(host, flood)
        result = mailbox.result(command)

    kept, gap = b"".join(p for p in pages(commands, command) if isinstance(p, bytes)), Gap.LIMIT
    assert result.content == "went on"
    assert kept == b"x" * 300_000
    assert pages(commands, command)[-1] is gap
    assert read(commands, command, 300_000).next == 50_000_000 + len("and . more") + 2


@poses("C16")
def test_lone_surrogates_become_the_marker(
    configuration: Configuration, mailbox: Mailbox, commands: SqlCommands
) -> None:
    """C16: text that no UTF-8 can hold is kept with U+FFFD in its place."""

    @remote(effect="once")
    def odd(context: ToolContext) -> str:
        context.output("a\ud800b\udc00c\U0001f600\x00")
        return "done"

    with serving(configuration, mailbox, odd) as host:
        command = call(host, odd)
        mailbox.result(command)

    assert whole(commands, command).decode() == "a\ufffdb\ufffdc\U0001f600\x00"


def test_only_the_newest_of_many_signs_of_life_is_told(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """A tool that tells a thousand times in a moment floods nobody, and its last word is heard."""

    @remote(effect="once")
    def eager(context: ToolContext) -> str:
        for step in range(1000):
            context.progress(f"step {step}", fraction=step / 1000)
        return "done"

    with serving(configuration, mailbox, eager) as host:
        command = call(host, eager)
        mailbox.result(command)

    told = [update for update in mailbox.of(command) if update.kind.value == "progress"]
    assert len(told) < 500
    assert told[-1].payload["message"] == "step 999"


@covers("R190")
def test_a_ledger_that_is_away_for_a_moment_loses_no_output(
    configuration: Configuration, mailbox: Mailbox, commands: SqlCommands
) -> None:
    """A commit that failed, and one whose answer was lost (S7), are tried again as they were."""
    failures = iter([True, True])

    def fail_twice(_: str) -> None:
        if next(failures, False):
            message = "the test takes the ledger away"
            raise Unavailable(message)

    @remote(effect="once")
    def work(context: ToolContext) -> str:
        context.output(b"words ")
        context.output(b"and more")
        return "done"

    points = {"hands.output.before_commit": fail_twice, "hands.output.after_commit": fail_twice}
    with plan(points), serving(configuration, mailbox, work) as host:
        command = call(host, work)
        mailbox.result(command)

    assert whole(commands, command) == b"words and more"


@covers("R190")
def test_what_a_tool_writes_after_its_deadline_is_a_gap(
    configuration: Configuration, mailbox: Mailbox, commands: SqlCommands
) -> None:
    """A thread that runs on is not listened to; a reader sees that something is missing."""
    go_on, ended = threading.Event(), threading.Event()

    @remote(effect="read", deadline=0.2)
    def slow(context: ToolContext) -> str:
        context.output(b"in time")
        go_on.wait(30)
        context.output(b"too late")
        ended.set()
        return "done"

    with serving(configuration, mailbox, slow) as host:
        command = call(host, slow)
        result = mailbox.result(command)
        go_on.set()
        assert ended.wait(30)

    assert (result.state, result.error and result.error.code) == (ExecutionState.FAILED, "DEADLINE")
    assert pages(commands, command) == [b"in time", Gap.LATE]


@covers("R178", "R191")
def test_a_page_is_asked_for_and_answered_by_the_queues(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """The answer is an update of its own kind: no fact of the execution, so without a sequence."""

    @remote(effect="once")
    def talk(context: ToolContext) -> str:
        context.output(b"words")
        return "done"

    with serving(configuration, mailbox, talk) as host:
        command = call(host, talk)
        mailbox.result(command)
        host.control(encode(question(command, 2)))
        until(lambda: any(u.kind.value == "page" for u in mailbox.taken), "the page")

    (answer,) = [update for update in mailbox.taken if update.kind.value == "page"]
    assert (answer.sequence, answer.execution_id) == (0, command.execution_id)
    assert (answer.page().bytes, answer.page().next, answer.page().sealed) == (b"rds", 5, True)


@covers("R190")
def test_the_first_output_is_on_record_when_the_tool_goes_on(
    configuration: Configuration,
    mailbox: Mailbox,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From then on a death leaves a gap; later output waits for its time, and nobody for it."""
    monkeypatch.setattr(reports, "_AGAIN_SECONDS", 60.0)
    seen: list[int] = []

    @remote(effect="once")
    def talk(context: ToolContext) -> str:
        context.output(b"first")
        mine = select(execution.c.output_bytes).where(
            execution.c.execution_id == context.execution_key
        )
        with database.read() as connection:
            seen.append(connection.execute(mine).scalar_one())
        return "done"

    with serving(configuration, mailbox, talk) as host:
        mailbox.result(call(host, talk))

    assert seen == [5]
