"""What a worker lends to a Brain in its own process, and what that does not isolate."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from hands_app.contract.errors import Unavailable
from hands_app.contract.wire import encode
from hands_app.transports.local import LocalUpdates
from tests.covers import covers
from tests.integration.hands.examples import Ledger, execute
from tests.integration.hands.hosting import Mailbox, remote, serving

if TYPE_CHECKING:
    from hands_app.worker.configuration import Configuration

memory: list[tuple[int, int]] = []


@remote(effect="once")
def look() -> str:
    """Leave in the memory of the process where it ran."""
    memory.append((os.getpid(), threading.get_ident()))
    return "seen"


@covers("R197")
def test_a_worker_lends_an_endpoint_and_is_no_executor(
    configuration: Configuration, mailbox: Mailbox, ledger: Ledger
) -> None:
    """The endpoint sends; the worker's ledger is the one whose address it was given."""
    command = execute(look.binding)

    with serving(configuration, mailbox, look) as host:
        endpoint = host.endpoint()
        sent = endpoint.send(encode(command))
        mailbox.result(command)

    assert sent
    assert not hasattr(host, "send")
    assert ledger.state(command) == "COMPLETED"


@covers("R198")
def test_an_endpoint_is_used_up_by_nobody(configuration: Configuration, mailbox: Mailbox) -> None:
    """Who borrows it cannot end the worker: there is nothing to close, and others go on."""
    first, second = execute(look.binding), execute(look.binding)

    with serving(configuration, mailbox, look) as host:
        borrowed = host.endpoint()
        borrowed.send(encode(first))
        del borrowed

        assert host.endpoint().send(encode(second))
        mailbox.result(second)


def test_what_is_not_durable_is_not_confirmed(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """Nonsense, a foreign command, and whatever comes to a worker that drains."""
    with serving(configuration, mailbox, look) as host:
        endpoint = host.endpoint()
        foreign = execute(look.binding).model_copy(update={"namespace": "elsewhere"})
        refused = [endpoint.send("{"), endpoint.send(encode(foreign))]
        host.drain()
        refused.append(endpoint.send(encode(execute(look.binding))))

    assert refused == [False] * 3


@covers("R196")
def test_a_thread_is_no_wall(configuration: Configuration, mailbox: Mailbox) -> None:
    """Whatever carries the command: the tool has the worker's process, memory and identity."""
    memory.clear()
    command = execute(look.binding)

    with serving(configuration, mailbox, look) as host:
        host.endpoint().send(encode(command))
        mailbox.result(command)

    ((process, thread),) = memory
    assert process == os.getpid()
    assert thread != threading.get_ident()


def test_an_update_that_was_not_taken_stops_those_behind_it(ledger: Ledger) -> None:
    """They come again in order; with nobody to take them none is taken."""
    command = execute()
    ledger.started(command)
    updates = ledger.updates(command)
    seen: list[str] = []
    way = LocalUpdates()

    before = way.publish(updates)
    way.bind(lambda envelope: _take(envelope, seen))
    first = way.publish(updates)
    then = way.publish(updates[first:])

    assert (before, first, then) == (0, 1, 1)
    assert seen == [encode(update) for update in updates]


def _take(envelope: str, seen: list[str]) -> None:
    """Take one, fail once, take all that follows."""
    if len(seen) == 1 and not _failed:
        _failed.append(envelope)
        raise Unavailable
    seen.append(envelope)


_failed: list[str] = []
