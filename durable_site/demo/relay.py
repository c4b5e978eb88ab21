"""Stands before a real provider, so that the demo can count its requests and catch one half-way.

It passes everything on unchanged and stores no header: keys stay between library and provider.
"""

import http.client
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import cast

from durable_site.demo.endpoint import ModelHandler, ModelServer
from durable_site.demo.journal import End, Record

_PIECE = 8 * 1024
_TIMEOUT = 120.0
_OF_ONE_CONNECTION = {
    "host",
    "connection",
    "content-length",
    "accept-encoding",
    "transfer-encoding",
}


class Relay(ModelServer):
    """A relay to one provider, in threads of the calling process, between entry and exit."""

    def __init__(
        self, upstream: str, journal: Path | None = None, *, hold: int | None = None
    ) -> None:
        """Listen as a `ModelServer` does; `upstream` is the provider's address without a path."""
        super().__init__(_Handler, journal, hold=hold)
        self.upstream = upstream.rstrip("/")


class _Handler(ModelHandler):
    server: Relay

    def post(self, body: bytes) -> None:
        """Pass a request on and count it."""
        self.answer_counted(body)

    def respond(self, record: Record, body: bytes) -> End:
        """Pass the answer back as it comes; hold it, if asked, after its first piece."""
        try:
            answer = self._ask(body)
        except urllib.error.URLError:
            self.answer(HTTPStatus.BAD_GATEWAY, {"error": {"message": "no answer from upstream"}})
            return End.REFUSED
        with answer:
            self._pass_back(answer, record)
        return End.ANSWERED if answer.status < HTTPStatus.BAD_REQUEST else End.REFUSED

    def _pass_back(self, answer: http.client.HTTPResponse, record: Record) -> None:
        self.begin_stream(answer.status, answer.headers.get("Content-Type", ""))
        for number, piece in enumerate(iter(lambda: answer.read1(_PIECE), b"")):
            self.send(piece)
            if number == 0:
                self.hold_if_asked(record)
        self.send(b"")

    def _ask(self, body: bytes) -> http.client.HTTPResponse:
        passed = {k: v for k, v in self.headers.items() if k.lower() not in _OF_ONE_CONNECTION}
        url = self.server.upstream + self.path
        request = urllib.request.Request(url, body, passed, method="POST")  # noqa: S310 - named by the user
        try:
            answer = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310 - the same
        except urllib.error.HTTPError as error:  # an answer too, and passed on like any other
            return cast("http.client.HTTPResponse", error)
        return cast("http.client.HTTPResponse", answer)
