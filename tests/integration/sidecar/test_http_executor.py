"""The Brain's side of the sidecar protocol, against a real sidecar and against bad ones."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import Incompatible
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind, parse_update
from hands_app.contract.strict_json import canonical
from hands_app.contract.wire import encode
from hands_app.host import Host
from hands_app.worker.ports import HostProfile
from sessions_app.contract.errors import Unavailable
from sessions_app.transports.http_delivery import HttpExecutor, Unconfirmed
from tests.covers import covers
from tests.integration.hands.examples import ROUTES, execute, query, until
from tests.integration.hands.hosting import remote
from tests.integration.sidecar.served import TOKEN, peer, says, sidecar

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from hands_app.contract.messages import Execute
    from hands_app.worker.configuration import Configuration

ran: list[str] = []


@remote(effect="once")
def send(text: str) -> str:
    """Send a text."""
    ran.append(text)
    return f"sent {text}"


class Brain:
    """An executor whose updates a test keeps; `away` makes it take none."""

    def __init__(self, url: str, token: str = TOKEN) -> None:
        self.executor = HttpExecutor(url, token, send_seconds=5)
        self.executor.bind(self._receive)
        self.told: list[str] = []
        self.away = False

    def _receive(self, envelope: str) -> str:
        if self.away:
            raise Unavailable
        if "unreadable" in envelope or envelope == "{":
            return "unreadable"
        self.told.append(envelope)
        return "applied"

    def kinds(self, command: Execute) -> list[str]:
        """Name what was told of a command, each sequence once, in order."""
        updates = [parse_update(each) for each in self.told]
        mine = {u.sequence: u.kind for u in updates if u.execution_id == command.execution_id}
        return [mine[number].value for number in sorted(mine)]


@pytest.fixture
def host(configuration: Configuration) -> Iterator[Host]:
    """Give a host whose updates are fetched."""
    ran.clear()
    made = Host(configuration, HostProfile("work", ROUTES, 4), None, catalogue=Catalogue([send]))
    made.start()
    yield made
    made.close()


@covers("R174")
def test_a_call_runs_in_a_sidecar(host: Host) -> None:
    """Commands go there, updates are fetched, in order and each once."""
    command = execute(send.binding, {"text": "hello"})
    with sidecar(host) as url:
        brain = Brain(url)
        brain.executor.start()

        assert brain.executor.send("hands", encode(command))
        until(lambda: "result" in brain.kinds(command), "the result")
        brain.executor.close()

    assert ran == ["hello"]
    assert brain.kinds(command) == ["admitted", "started", "result"]


@covers("R184")
def test_an_update_comes_again_until_it_is_taken_in(host: Host) -> None:
    """A Brain whose storage is away acknowledges nothing; the ledger keeps it."""
    command = execute(send.binding, {"text": "hello"})
    with sidecar(host) as url:
        brain = Brain(url)
        brain.away = True
        brain.executor.send("hands", encode(command))
        until(lambda: ran, "the effect")
        with pytest.raises(Unavailable):
            brain.executor.fetch(5)
        brain.away = False
        host.shelf._lent_until.clear()
        until(lambda: brain.executor.fetch(0) or brain.kinds(command)[-1:] == ["result"], "it")
        until(lambda: brain.executor.fetch(0) == 0 and "result" in brain.kinds(command), "all")

    assert brain.kinds(command) == ["admitted", "started", "result"]
    assert host.shelf._told == {}


def test_a_query_brings_again_what_was_acknowledged(host: Host) -> None:
    """A gap that the Brain asks about is filled, whatever the ledger holds for published."""
    command = execute(send.binding, {"text": "hello"})
    with sidecar(host) as url:
        brain = Brain(url)
        brain.executor.send("hands", encode(command))
        until(lambda: brain.executor.fetch(1) >= 0 and "result" in brain.kinds(command), "it")
        brain.told.clear()

        assert brain.executor.send("hands", encode(query(command)), control=True)
        until(lambda: brain.executor.fetch(1) >= 0 and "result" in brain.kinds(command), "again")

    assert brain.kinds(command) == ["admitted", "started", "result"]
    assert ran == ["hello"]


def _cut(connection: socket.socket, _: bytes) -> None:
    connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\n{")


def _drip(connection: socket.socket, _: bytes) -> None:
    for byte in b"HTTP/1.1 202 Accepted\r\n" * 1000:
        connection.sendall(bytes([byte]))
        threading.Event().wait(0.02)


def _endless(connection: socket.socket, _: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


BAD = {
    "cuts": _cut,
    "drips": _drip,
    "endless": _endless,
    "no http": lambda connection, _: connection.sendall(b"hello\r\n"),
    "wrong json": says("202 Accepted", b'{"taken": tru'),
    "two keys": says("202 Accepted", b'{"taken": true, "taken": true}'),
    "another answer": says("202 Accepted", b'{"taken": false}'),
    "error": says("500 Internal Server Error", b'{"taken": true}'),
    "wrong token": says("401 Unauthorized", b'{"taken": true}'),
}


@covers("R174")
@pytest.mark.parametrize("behave", BAD.values(), ids=BAD)
def test_an_answer_that_is_not_the_one_confirms_nothing(behave: Callable[..., None]) -> None:
    """Whatever a peer does, a command is unconfirmed, within its time, and fetching fails."""
    with peer(behave) as (url, _):
        brain = Brain(url)
        brain.executor._send_seconds = 1.0
        began = time.monotonic()

        assert not brain.executor.send("hands", "{}")
        assert time.monotonic() - began < 15
        assert brain.told == []


def test_a_redirect_is_not_followed_and_takes_no_token_along() -> None:
    """The address of the settings is the only one that is asked."""
    with (
        peer(says("202 Accepted", b'{"taken": true}')) as (elsewhere, asked_elsewhere),
        peer(says("307 Temporary Redirect", b"", f"Location: {elsewhere}/v1/commands")) as (url, _),
    ):
        brain = Brain(url)

        assert not brain.executor.send("hands", "{}")
        assert asked_elsewhere == []


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"updates": {}}', b'{"updates": [1]}', b"\xff"])
def test_updates_in_another_form_are_refused(body: bytes) -> None:
    """Nothing of them is taken in."""
    with peer(says("200 OK", body)) as (url, _):
        brain = Brain(url)

        with pytest.raises(Unconfirmed):
            brain.executor.fetch(0)
        assert brain.told == []


@covers("R192")
def test_what_cannot_be_read_is_not_acknowledged() -> None:
    """Duplicates and any order go to the intake as they come; the rest is acknowledged."""
    command = execute(send.binding, {"text": "hello"})
    first, second = (_update(command, sequence) for sequence in (1, 2))
    bad = _update(command, 3, "unreadable")
    body = canonical({"updates": [second, first, first, bad, "{"]})
    with peer(says("200 OK", body)) as (url, asked):
        brain = Brain(url)
        taken = brain.executor.fetch(0)

    assert taken == 3
    assert brain.told == [second, first, first]
    said = json.loads(asked[1].rpartition(b"\r\n\r\n")[2])
    assert said == {"events": [parse_update(each).event_id for each in brain.told]}


def _update(command: Execute, sequence: int, message: str = "half") -> str:
    return encode(
        Update(
            event_id=new_id("evt_"),
            namespace="durable",
            execution_id=command.execution_id,
            request_digest=command.request_digest,
            route="hands",
            sequence=sequence,
            kind=UpdateKind.PROGRESS,
            payload={"message": message},
            at=datetime(2030, 1, 1, tzinfo=UTC),
        )
    )


@pytest.mark.parametrize("url", ["ftp://x/", "http://", "/tmp/x", "http://x/?a=b"])  # noqa: S108 - no file
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """At the start, not at the first call."""
    with pytest.raises(Incompatible):
        HttpExecutor(url, TOKEN)
