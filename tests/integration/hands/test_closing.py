"""How a Hands host drains and closes: what it waits for, and what it never waits for."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import pytest
from pydantic import AfterValidator

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import Unavailable
from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionState
from hands_app.contract.tools import (
    ToolContext,  # noqa: TC001 - the decorator reads it
)
from hands_app.contract.wire import encode
from hands_app.host import Host
from hands_app.worker.ports import HostProfile
from tests.covers import covers, poses
from tests.integration.hands.examples import ROUTES, cancel, execute, query, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.messages import Update
    from hands_app.worker.configuration import Configuration
    from tests.integration.hands.examples import Ledger


_entered, _released = threading.Event(), threading.Event()


def _slowly(number: int) -> int:
    """Hold a call up between its claim and its start."""
    _entered.set()
    _released.wait(30)
    return number


@covers("R172")
def test_having_the_house_starts_nothing(configuration: Configuration, mailbox: Mailbox) -> None:
    """R172: a host that was made but not started claims, renews and publishes nothing."""
    before = {thread.name for thread in threading.enumerate()}
    host = Host(configuration, HostProfile("work", ROUTES, 1), mailbox, catalogue=Catalogue([]))

    begun = {thread.name for thread in threading.enumerate()} - before
    assert begun <= {"hands-tools-loop"}
    with pytest.raises(Unavailable):
        host.execute(encode(execute()))
    host.close()
    assert mailbox.taken == []


@covers("R258")
@poses("S24")
def test_controls_live_on_while_a_host_drains(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R258, S24: nothing is admitted any more, but a running tool still hears of its cancel."""

    @remote(effect="once")
    def hold(context: ToolContext) -> str:
        return "stopped" if context.cancelled.wait(30) else "ran on"

    with serving(configuration, mailbox, hold) as host:
        running = call(host, hold)
        until(lambda: "started" in mailbox.kinds(running), "the start")
        host.drain()

        with pytest.raises(Unavailable, match="drains"):
            call(host, hold)
        host.control(encode(query(running)))
        host.control(encode(cancel(running)))

        assert mailbox.result(running).content == "stopped"


@covers("R258")
def test_a_close_waits_for_commands_that_are_being_obeyed(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R258: one that has come in is committed and told before anything is closed."""
    command, entered, released = execute(), threading.Event(), threading.Event()

    def hold(_: str) -> None:
        entered.set()
        released.wait(30)

    with serving(configuration, mailbox) as host, plan({"hands.cancel.before_commit": hold}):
        obeying = threading.Thread(target=host.control, args=(encode(cancel(command)),))
        obeying.start()
        assert entered.wait(30)
        closing = threading.Thread(target=host.close)
        closing.start()
        until(lambda: host._closing.is_begun, "the begin of the end")
        released.set()
        closing.join(30)
        obeying.join(30)

    assert mailbox.kinds(command) == ["result"]


@covers("R258", "R259")
def test_a_close_empties_the_outbox_and_then_lets_the_publisher_go(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """R258, R259: what the broker refused is sent in the end; afterwards nobody publishes."""
    released = threading.Event()

    @remote(effect="once")
    def hold() -> None:
        released.wait(30)

    short = replace(configuration, grace_seconds=0.1)
    mailbox.is_down = True
    with serving(short, mailbox, hold) as host:
        command = call(host, hold)
        until(lambda: host.courier.failures > 0, "a refused update")
        until(lambda: _is_started(host), "the start")
        mailbox.is_down = False
        host.close()
        published = list(mailbox.taken)
        released.set()
        until(lambda: len(host.live) == 0, "the end of the tool")

    assert {"admitted", "started"} <= set(mailbox.kinds(command))
    assert mailbox.taken == published


def _is_started(host: Host) -> bool:
    waiting = host.courier._outbox.unpublished(100, older_than=timedelta(0))
    return "started" in [update.kind for update in waiting]


@covers("R260")
def test_a_forced_close_takes_seconds_and_cancels_no_effect(
    configuration: Configuration, mailbox: Mailbox, ledger: Ledger
) -> None:
    """R260: a tool that will not end keeps its execution; one that heeds `stopping` ends well."""
    released = threading.Event()

    @remote(effect="once")
    def deaf() -> str:
        released.wait(60)
        return "done all the same"

    @remote(effect="once")
    def polite(context: ToolContext) -> str:
        assert context.stopping.wait(60)
        return "cancelled" if context.cancelled.is_set() else "stopped in time"

    with serving(replace(configuration, grace_seconds=60), mailbox, deaf, polite) as host:
        first, second = call(host, deaf), call(host, polite)
        until(lambda: "started" in mailbox.kinds(first), "the start of the first")
        until(lambda: "started" in mailbox.kinds(second), "the start of the second")
        patient = threading.Thread(target=host.close)
        patient.start()
        until(lambda: host._closing.is_begun, "a patient close")

        began = time.monotonic()
        host.close(force=True)
        took = time.monotonic() - began

        assert took < 30  # the promise is 5 s; a busy machine may stretch it, a hang cannot pass
        assert ledger.state(first) == "STARTED"
        assert ledger.updates(second)[-1].result().content == "stopped in time"
        released.set()
        until(lambda: ledger.state(first) == "COMPLETED", "the late outcome")
        patient.join(30)


@covers("R260")
def test_a_forced_close_gives_back_what_was_not_started(
    configuration: Configuration, mailbox: Mailbox, ledger: Ledger
) -> None:
    """R260: capacity that waited for its start is free for another host at once."""
    _entered.clear()
    _released.clear()

    @remote(effect="once")
    def quick(number: Annotated[int, AfterValidator(_slowly)]) -> int:
        return number

    with serving(replace(configuration, grace_seconds=60), mailbox, quick) as host:
        command = call(host, quick, number=7)
        assert _entered.wait(30)
        host.close(force=True)
        until(lambda: ledger.state(command) == "ADMITTED", "a free execution")
        _released.set()
        with serving(configuration, mailbox, quick):
            assert mailbox.result(command).content == 7

    assert mailbox.kinds(command) == ["admitted", "started", "result"]


@covers("R261")
@pytest.mark.parametrize("kind", ["sync", "async", "publisher", "policy"])
def test_a_close_from_inside_a_callback_does_not_wait_for_itself(
    configuration: Configuration, mailbox: Mailbox, kind: str
) -> None:
    """R261: it returns at once, the callback goes on, and then the host ends."""
    for force in (False, True):
        _close_from_inside(configuration, mailbox, kind, force=force)


def _close_from_inside(
    configuration: Configuration, mailbox: Mailbox, kind: str, *, force: bool
) -> None:
    returned: list[str] = []
    hosts: list[Host] = []

    def close(*_: object) -> None:
        hosts[0].close(force=force)
        returned.append(kind)

    @remote(effect="once")
    def sync() -> str:
        close()
        return "went on"

    @remote(effect="once")
    async def later() -> str:
        close()
        await asyncio.sleep(0)
        return "went on"

    tool = later if kind == "async" else sync
    publisher = _Closing(close) if kind == "publisher" else mailbox
    host = Host(
        replace(configuration, grace_seconds=30),
        HostProfile("work", ROUTES, 1),
        publisher,
        catalogue=Catalogue([sync, later]),
        policy=close if kind == "policy" else None,
    )
    hosts.append(host)
    host.start()
    command = call(host, tool)

    assert host.wait_closed(50)
    assert returned
    if kind in {"sync", "async"}:
        result = mailbox.result(command)
        assert (result.state, result.content) == (ExecutionState.COMPLETED, "went on")


class _Closing(Mailbox):
    """A broker whose client closes the host when it is first used."""

    def __init__(self, close: Callable[[], None]) -> None:
        super().__init__()
        self._close = close

    def publish(self, updates: Sequence[Update]) -> int:
        """Close the host, then take what is sent."""
        self._close()
        return super().publish(updates)


def test_closing_again_and_a_host_that_never_started_are_harmless(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """An embedding program need not remember what it has done."""
    with serving(configuration, mailbox) as host:
        host.close()
        host.close(force=True)

        with pytest.raises(Unavailable, match="closed"):
            host.control(encode(query(execute())))
