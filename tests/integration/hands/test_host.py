"""A whole Hands process: what commands do, how it lives and how it stops."""

from __future__ import annotations

import dataclasses
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.errors import Forbidden, InvalidEnvelope, InvalidJson, Unavailable
from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionState
from hands_app.contract.tools import (
    ToolContext,  # noqa: TC001 - the decorator reads it
)
from hands_app.contract.wire import encode
from hands_app.ledger import schema
from hands_app.ledger.engine import Database
from hands_app.worker.configuration import Configuration
from tests.covers import covers, poses
from tests.integration.hands.examples import Clock, cancel, execute, query, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.host import Host


@covers("R174")
def test_a_command_becomes_a_result(configuration: Configuration, mailbox: Mailbox) -> None:
    """R174: admit, claim, start, run, finish and publish, with one contiguous prefix."""

    @remote(effect="once")
    async def double(number: int, context: ToolContext) -> int:
        context.progress("half", fraction=0.5)
        return 2 * number

    with serving(configuration, mailbox, double) as host:
        command = call(host, double, number=21)
        result = mailbox.result(command)

    assert (result.state, result.content) == (ExecutionState.COMPLETED, 42)
    assert mailbox.kinds(command) == ["admitted", "started", "progress", "result"]
    assert [update.sequence for update in mailbox.of(command)] == [1, 2, 3, 4]


@covers("R192")
@pytest.mark.parametrize(
    ("text", "error"),
    [("{", InvalidJson), ("{}", InvalidEnvelope), ('{"a":1,"a":1}', InvalidJson)],
)
def test_unreadable_commands_are_refused(
    configuration: Configuration, mailbox: Mailbox, text: str, error: type[Exception]
) -> None:
    """R192: refused, counted, never run."""
    with serving(configuration, mailbox) as host:
        with pytest.raises(error):
            host.execute(text)

        assert host.gate.counts["INVALID"] == 1


@covers("R181")
@poses("T22")
def test_the_policy_speaks_before_the_ledger_is_touched(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R181, T22: a command for a foreign namespace or route leaves no row."""
    command = execute()
    touched: list[str] = []
    points = ("hands.admit.before_commit", "hands.cancel.before_commit")
    foreign: dict[str, object] = {"namespace": "elsewhere"}
    with (
        serving(configuration, mailbox) as host,
        plan(dict.fromkeys(points, touched.append)),
    ):
        for send, text in (
            (host.execute, encode(command.model_copy(update=foreign))),
            (host.control, encode(cancel(command).model_copy(update=foreign))),
            (host.control, encode(query(command).model_copy(update={"route": "other"}))),
        ):
            with pytest.raises(Forbidden):
                send(text)

    assert touched == []


def test_arguments_that_fail_the_schema_are_never_started(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """I34: FAILED without a start record, and the model is told what to mend."""

    @remote()
    def double(number: int) -> int:
        return 2 * number

    with serving(configuration, mailbox, double) as host:
        command = call(host, double, number="many")
        result = mailbox.result(command)

    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    assert "number" in result.error.message
    assert mailbox.kinds(command) == ["admitted", "result"]


@poses("C47")
def test_a_tool_that_nobody_here_knows_waits_for_a_host_that_does(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """C47: it is admitted, marked as not runnable here, and run by another host."""

    @remote(effect="read")
    def rare() -> str:
        return "found"

    with serving(configuration, mailbox) as ignorant:
        command = call(ignorant, rare)
        until(lambda: mailbox.kinds(command) == ["admitted"], "the admission")
        assert mailbox.of(command)[0].payload == {"runnable": False}
        with serving(configuration, mailbox, rare):
            assert mailbox.result(command).content == "found"


@covers("R178")
def test_a_busy_pool_delays_no_control(configuration: Configuration, mailbox: Mailbox) -> None:
    """R178: with every slot taken, a queued execution is cancelled at once."""
    released = threading.Event()

    @remote(effect="once")
    def hold() -> None:
        released.wait(20)

    with (
        serving(configuration, mailbox, hold, slots=1) as host,
        serving(configuration, mailbox, role="control") as controls,
    ):
        first, queued = call(host, hold), call(host, hold)
        until(lambda: "started" in mailbox.kinds(first), "the start of the first")
        controls.control(encode(cancel(queued)))

        assert mailbox.result(queued).state is ExecutionState.CANCELLED
        released.set()


@poses("S24")
def test_a_draining_host_claims_nothing_and_ends_what_runs(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """S24: the running tool finishes, the queued one is left to another host."""
    entered, released = threading.Event(), threading.Event()

    @remote(effect="once")
    def hold(number: int) -> int:
        entered.set()
        released.wait(20)
        return number

    with serving(configuration, mailbox, hold, slots=1) as host:
        running, queued = call(host, hold, number=1), call(host, hold, number=2)
        assert entered.wait(20)
        host.drain()
        released.set()

        assert mailbox.result(running).content == 1
        until(lambda: len(host.live) == 0, "an idle host")
        assert "started" not in mailbox.kinds(queued)
    with serving(configuration, mailbox, hold):
        assert mailbox.result(queued).content == 2


@covers("R260")
@poses("S24")
def test_what_the_grace_time_does_not_end_is_left_to_its_lease(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """S24, R260: a closing host neither waits for ever nor calls a running tool dead."""
    released = threading.Event()

    @remote(effect="once")
    def hold() -> str:
        released.wait(20)
        return "held"

    with serving(configuration, mailbox) as other:
        short = Configuration(
            state_dir=configuration.state_dir,
            ledger_url=configuration.ledger_url,
            grace_seconds=0.1,
        )
        with serving(short, mailbox, hold) as host:
            command = call(host, hold)
            until(lambda: "started" in mailbox.kinds(command), "the start")
        assert other.sweeper.sweep() == 0
        released.set()

        assert mailbox.result(command).content == "held"
        host.close()


@covers("R187")
def test_updates_that_the_broker_did_not_take_come_later(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R187: a broker that is down costs time only."""

    @remote(effect="once")
    def quick() -> str:
        return "done"

    mailbox.is_down = True
    with serving(configuration, mailbox, quick) as host:
        command = call(host, quick)
        until(lambda: host.courier.failures > 0, "a refused update")
        mailbox.is_down = False

        assert mailbox.result(command).content == "done"
        until(lambda: mailbox.kinds(command) == ["admitted", "started", "result"], "all updates")


def test_a_ledger_that_is_away_at_the_start_is_waited_for(
    state_dir: Path, mailbox: Mailbox
) -> None:
    """The process lives and begins to serve once the ledger is there."""
    url = f"sqlite:///{state_dir}/later/hands.sqlite3"
    with serving(Configuration(state_dir=state_dir, ledger_url=url), mailbox) as host:
        with pytest.raises(Unavailable):
            host.execute(encode(execute()))
        (state_dir / "later").mkdir()
        database = Database(url)
        schema.migrate(database)
        database.close()

        until(lambda: _is_admitted(host), "an open host")


def _is_admitted(host: Host) -> bool:
    try:
        host.execute(encode(execute()))
    except Unavailable:
        return False
    return True


@poses("S4")
def test_a_host_held_for_dead_begins_anew(configuration: Configuration, mailbox: Mailbox) -> None:
    """S4: it stops what it ran, takes a new identity and serves on."""

    @remote(effect="read")
    def peek() -> str:
        return "seen"

    with serving(configuration, mailbox, peek) as host:
        before = host.keeper.host_id
        host.keeper._hosts.mark_lost([before])
        until(lambda: host.keeper.host_id != before, "a new identity")

        assert mailbox.result(call(host, peek)).content == "seen"


@poses("S3")
def test_leases_are_renewed_while_a_tool_runs(
    configuration: Configuration, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3: a tool that runs longer than its lease keeps its execution."""
    released = threading.Event()

    @remote(effect="once")
    def long() -> str:
        released.wait(20)
        return "kept"

    clock = (
        Clock()
    )  # the ledger's time goes on by the test alone, in steps that leave no gap between sweeps
    monkeypatch.setattr(Database.__init__, "__kwdefaults__", {"clock": clock, "pool": 4})
    quick = dataclasses.replace(
        configuration, lease_seconds=10, renew_seconds=0.1, sweep_seconds=0.1
    )
    with serving(quick, mailbox) as sweeping, serving(quick, mailbox, long) as host:
        command = call(host, long)
        until(lambda: "started" in mailbox.kinds(command), "the start")
        renewals = threading.Event()
        left = iter(range(40, -1, -1))

        def renewed(_: str) -> None:
            clock.ahead += timedelta(seconds=0.5)
            if next(left, 0) == 0:
                renewals.set()

        with plan({"hands.renew.after_commit": renewed}):
            assert renewals.wait(30)
        released.set()

        assert mailbox.result(command).content == "kept"
        assert sweeping.sweeper.settled == 0
