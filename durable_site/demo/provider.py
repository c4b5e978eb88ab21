"""A model provider that speaks the OpenAI wire protocol and answers from a script."""

import json
import socket
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

from pydantic import ValidationError

from durable_site.demo import wire
from durable_site.demo.endpoint import ModelHandler, ModelServer
from durable_site.demo.history import ChatRequest, RefusedError, refuse_broken
from durable_site.demo.journal import End, Record
from durable_site.demo.script import Reply, Script, night_report

_PIECES_BEFORE_HOLD = 2
_NO_SUCH_URL = "Unknown request URL: {}."
_NO_KEY = "You didn't provide an API key."


class ScriptedProvider(ModelServer):
    """The provider, in threads of the calling process, between entry and exit."""

    def __init__(
        self,
        journal: Path | None = None,
        *,
        hold: int | None = None,
        script: Script = night_report,
        listening: socket.socket | None = None,
    ) -> None:
        """Listen as a `ModelServer` does; `script` decides every answer."""
        super().__init__(_Handler, journal, hold=hold, listening=listening)
        self.script = script

    @property
    def base_url(self) -> str:
        """What a client library takes as the address of the provider."""
        return f"{self.address}/v1"


class _Handler(ModelHandler):
    server: ScriptedProvider

    def get(self) -> None:
        """Answer the list of models."""
        if self.path == "/v1/models":
            self.answer(HTTPStatus.OK, wire.models())
        else:
            self._refuse(RefusedError(_NO_SUCH_URL.format(self.path), status=404))

    def post(self, body: bytes) -> None:
        """Answer a chat completion, in one piece or as a stream."""
        if self.path != "/v1/chat/completions":
            self._refuse(RefusedError(_NO_SUCH_URL.format(self.path), status=404))
        elif not self.headers.get("Authorization", "").startswith("Bearer "):
            self._refuse(RefusedError(_NO_KEY, status=401))
        else:
            self.answer_counted(body)

    def respond(self, record: Record, body: bytes) -> End:
        """Answer from the script, or refuse what a real provider would refuse."""
        try:
            request = _well_formed(body)
        except RefusedError as error:
            self._refuse(error)
            return End.REFUSED
        reply = self.server.script(request)
        if request.stream:
            self._stream(request, reply, record)
        else:
            self.hold_if_asked(record)
            self.answer(HTTPStatus.OK, wire.completion(request, reply))
        return End.ANSWERED

    def _stream(self, request: ChatRequest, reply: Reply, record: Record) -> None:
        self.begin_stream(HTTPStatus.OK, "text/event-stream")
        for number, chunk in enumerate(wire.chunks(request, reply)):
            if number == _PIECES_BEFORE_HOLD:
                self.hold_if_asked(record)
            self.send(f"data: {json.dumps(chunk)}\n\n".encode())
        self.send(b"data: [DONE]\n\n")
        self.send(b"")

    def _refuse(self, error: RefusedError) -> None:
        with suppress(OSError):
            self.answer(HTTPStatus(error.status), wire.refusal(error))


def _well_formed(body: bytes) -> ChatRequest:
    try:
        request = ChatRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(f"[{p}]" if isinstance(p, int) else p for p in first["loc"])
        message = f"Invalid value for '{where}': {first['msg']}."
        raise RefusedError(message, where or None) from error
    refuse_broken(request.messages)
    return request
