"""The sidecar against callers that misbehave: closed, bounded, strict."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from hands_app import cli
from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import Incompatible
from hands_app.contract.wire import encode
from hands_app.host import Host
from hands_app.transports import sidecar as sidecars
from hands_app.transports.token import fits, own_token, token_for
from hands_app.worker.ports import HostProfile
from tests.covers import covers, poses
from tests.integration.hands.examples import ROUTES, execute, query
from tests.integration.hands.hosting import remote
from tests.integration.sidecar.served import TOKEN, sidecar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.worker.configuration import Configuration


@remote(effect="once")
def send(text: str) -> str:
    """Send a text."""
    return text


@pytest.fixture
def url(configuration: Configuration) -> Iterator[str]:
    """Give the address of a sidecar."""
    host = Host(configuration, HostProfile("work", ROUTES, 1), None, catalogue=Catalogue([send]))
    host.start()
    with closing(host), sidecar(host) as address:
        yield address


def _ask(
    url: str, method: str, path: str, body: bytes | None = None, token: str | None = TOKEN
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with closing(connection):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_nothing_is_said_without_the_token(url: str) -> None:
    """Closed by default, and no resource is told from another."""
    wrong = (None, "", "another-token-of-a-test", TOKEN + "x", TOKEN[:-1])

    said = [
        _ask(url, "GET", path, token=token)
        for path in ("/v1/updates", "/v1/never")
        for token in wrong
    ]

    assert {(status, each["code"]) for status, each in said} == {(401, "UNAUTHENTICATED")}


def test_a_token_is_compared_as_a_whole() -> None:
    """The scheme belongs to it, and no header is no token."""
    assert fits(f"Bearer {TOKEN}".encode(), TOKEN)
    assert not fits(TOKEN.encode(), TOKEN)
    assert not fits(None, TOKEN)


@covers("R184")
def test_an_answer_means_that_it_is_durable(url: str) -> None:
    """202 for a command, again for its duplicate, and for what asks about it."""
    command = execute(send.binding, {"text": "a"})
    text = encode(command).encode()

    said = [_ask(url, "POST", "/v1/commands", text) for _ in range(2)]
    said.append(_ask(url, "POST", "/v1/controls", encode(query(command)).encode()))

    assert said == [(202, {"taken": True})] * 3


@poses("C82")
def test_c82_what_breaks_a_request_tells_no_secret(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the answer nor the log has the text of an error that nobody foresaw."""

    def broken(*_: object) -> None:
        message = "postgres://ann:hunter2@db"
        raise RuntimeError(message)

    monkeypatch.setattr(Host, "execute", broken)

    status, told = _ask(url, "POST", "/v1/commands", b"{}")

    assert (status, told["code"]) == (500, "INTERNAL")
    assert "hunter2" not in f"{told}{caplog.text}"
    assert "a request failed: RuntimeError at" in caplog.text


def test_a_body_that_is_no_command_is_refused(url: str) -> None:
    """With a reason, and nothing in the ledger."""
    bad = (b"{", b"\xff", b"{}", b'{"kind":"execute","kind":"execute"}', b"[1]")
    paths = ("/v1/commands", "/v1/controls", "/v1/acknowledged")

    refused = {_ask(url, "POST", path, body)[0] for path in paths for body in bad}
    huge = {_ask(url, "POST", path, b"x" * (1024 * 1024 + 1))[0] for path in paths}

    assert refused == {422}
    assert huge == {413}


@poses("T22")
def test_a_foreign_command_is_forbidden(url: str) -> None:
    """The host's policy speaks before the ledger."""
    foreign = execute().model_copy(update={"namespace": "elsewhere"})

    status, said = _ask(url, "POST", "/v1/commands", encode(foreign).encode())

    assert (status, said["code"]) == (403, "FORBIDDEN")


def test_there_is_nothing_else(url: str) -> None:
    """One answer for all that is no resource, and no wait beyond the bound."""
    others = (("GET", "/"), ("PUT", "/v1/commands"), ("GET", "/v2"), ("POST", "/v1/updates"))
    waits = ("-1", "31", "x", "nan", "inf")

    assert {_ask(url, method, path)[0] for method, path in others} == {404}
    assert {_ask(url, "GET", f"/v1/updates?wait={wait}")[0] for wait in waits} == {422}


def test_a_body_that_does_not_come_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that stops in the midst holds no connection for ever."""
    monkeypatch.setattr(sidecars, "BODY_SECONDS", 0.2)
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=20) as caller:
        caller.sendall(
            f"POST /v1/commands HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Length: 100\r\n\r\n{".encode()
        )

        assert caller.recv(65536).startswith(b"HTTP/1.1 408")


def test_an_open_address_needs_a_token(state_dir: Path) -> None:
    """Loopback finds one in the state folder; any other has to be given one."""
    assert token_for("127.0.0.1", state_dir, {}) == own_token(state_dir)
    assert stat.S_IMODE(os.stat(state_dir / "sidecar.token").st_mode) == 0o600  # noqa: PTH116 - mode
    assert token_for("0.0.0.0", state_dir, {"DURABLE_HTTP_TOKEN": TOKEN}) == TOKEN  # noqa: S104 - an address of the case
    with pytest.raises(Incompatible, match="DURABLE_HTTP_TOKEN"):
        token_for("0.0.0.0", state_dir, {})  # noqa: S104 - that is the case
    with pytest.raises(Incompatible, match="at least 16"):
        token_for("127.0.0.1", state_dir, {"DURABLE_HTTP_TOKEN": "short"})
    with pytest.raises(Incompatible, match="cannot be read"):
        token_for("127.0.0.1", state_dir, {"DURABLE_HTTP_TOKEN_FILE": str(state_dir / "no")})


def test_the_command_refuses_an_open_address_without_a_token(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing listens then."""
    monkeypatch.setenv("DURABLE_STATE_DIR", str(state_dir))
    monkeypatch.delenv("DURABLE_HTTP_TOKEN", raising=False)

    assert cli.main(["serve", "--host", "0.0.0.0", "--port", "1"]) == 6  # noqa: S104 - an address of the case
    assert "DURABLE_HTTP_TOKEN" in capsys.readouterr().err
