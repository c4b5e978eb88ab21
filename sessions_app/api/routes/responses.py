"""Responses: one Turn as a document with three statuses, for whoever started it (R288 to R291).

A response is a Turn of the main Thread; its id is the Turn's, and the request id that it was
admitted under names its starter. So no replica and no row is special: each can answer a poll.
"""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

from ninja import Path, Query, Router
from pydantic import Field

from sessions_app.api import authorizing
from sessions_app.api.bodies import Content
from sessions_app.api.operations import route, runtime
from sessions_app.api.parameters import ID, NAME, known
from sessions_app.contract.content import Wire
from sessions_app.contract.errors import Invalid, NotFound
from sessions_app.contract.grants import Identity, Operation
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.contract.views import TurnView, UsageView
from sessions_app.contract.wire import model
from sessions_app.runtime.sessions import SessionHandle

router = Router(tags=["responses"])
_SHORT: Final = r"^[A-Za-z0-9._:@+~/=-]{1,128}$"
_WHO: Final = 24
"""Hexadecimal digits that tell one starter from another."""


class ResponsePath(Wire):
    """A response by its id."""

    response_id: str = Field(pattern=ID, json_schema_extra=known("turn"))


class OfSession(Wire):
    """The Session that the response was started in."""

    session_id: str = Field(pattern=NAME, json_schema_extra=known("session"))


class NewResponse(Wire):
    """A task for a Session's main Thread; a repeat of the same request id gives the same one."""

    session_id: str = Field(pattern=NAME, json_schema_extra=known("session"))
    request_id: str = Field(pattern=_SHORT)
    input: Content
    namespace: str | None = Field(
        default=None,
        pattern=NAME,
        json_schema_extra=known("namespace"),
        description="may be left out by who sees exactly one",
    )


@dataclass(frozen=True, slots=True)
class ResponseError:
    """Why a response failed, in words that say nothing of the inside."""

    code: Literal["failed", "cancelled"]
    message: str


@dataclass(frozen=True, slots=True)
class ResponseView:
    """A Turn as one document; everything that has not ended is in progress (4.1 row 36)."""

    id: str
    session_id: str
    status: Literal["in_progress", "completed", "failed"]
    created_at: datetime
    completed_at: datetime | None
    output: Any
    output_text: str | None
    error: ResponseError | None
    usage: UsageView


@route(router, "POST", "/responses", needs=Operation.SUBMIT, gives=model(ResponseView), status=202)
def start_response(body: NewResponse, identity: Identity) -> ResponseView:
    """Start a Turn and answer with its document."""
    namespace = body.namespace or _only(identity)
    authorizing.current().authorize(identity, Operation.SUBMIT, namespace, body.session_id)
    session = SessionHandle(SessionKey(namespace, body.session_id), runtime())
    turn = session.submit(_request(identity, body.request_id), body.input)
    return _document(turn.status())


@route(router, "GET", "/responses/{responseId}", needs=Operation.READ, gives=model(ResponseView))
def get_response(
    at: Annotated[ResponsePath, Path()], of: Annotated[OfSession, Query()], identity: Identity
) -> ResponseView:
    """The document as it stands; for anybody else, or of another Session, there is none (R290)."""
    turn = runtime().find_turn(at.response_id).status()
    session = turn.key.session
    theirs = turn.request_id.startswith(_request(identity, ""))
    if not (identity.sees(session.namespace) and session.session_id == of.session_id and theirs):
        msg = f"turn {at.response_id} was not found"
        raise NotFound(msg)
    authorizing.current().authorize(identity, Operation.READ, session.namespace, session.session_id)
    return _document(turn)


def _request(identity: Identity, name: str) -> str:
    """The request id of a Turn that somebody starts as a response."""
    return f"response:{sha256(identity.subject.encode()).hexdigest()[:_WHO]}:{name}"


def _only(identity: Identity) -> str:
    if identity.namespaces is None or len(identity.namespaces) != 1:
        msg = "namespace: say which one, since you see several"
        raise Invalid(msg)
    return next(iter(identity.namespaces))


def _document(turn: TurnView) -> ResponseView:
    done = turn.status == TurnStatus.COMPLETED
    error = None
    if turn.is_terminal and not done:
        cancelled = turn.status == TurnStatus.CANCELLED
        error = (
            ResponseError("cancelled", "it was cancelled")
            if cancelled
            else ResponseError("failed", "it could not be done")
        )
    return ResponseView(
        id=turn.turn_id,
        session_id=turn.key.session.session_id,
        status="completed" if done else "failed" if error else "in_progress",
        created_at=turn.created_at,
        completed_at=turn.finished_at,
        output=turn.result if done else None,
        output_text=turn.result if done and isinstance(turn.result, str) else None,
        error=error,
        usage=turn.usage,
    )
