"""Sessions and Threads."""

from typing import Annotated

from ninja import Router
from pydantic import Field

from sessions_app.api.bodies import IS_NUMBER
from sessions_app.api.operations import SESSION, SESSIONS, THREAD, route, runtime
from sessions_app.api.parameters import (
    NAME,
    AtSession,
    AtThread,
    InNamespace,
    Pages,
    known,
)
from sessions_app.contract.content import Wire
from sessions_app.contract.grants import Operation
from sessions_app.contract.paging import Page
from sessions_app.contract.views import CheckpointView, MessageView, SessionView, ThreadView
from sessions_app.contract.wire import model, page_model

router = Router(tags=["sessions"])
_Bound = Annotated[int, Field(ge=1, le=2**31 - 1), IS_NUMBER]


class _Pinned(Wire):
    agent: str = Field(pattern=NAME, json_schema_extra=known("agent"))
    version: str | None = Field(
        default=None,
        pattern=NAME,
        json_schema_extra=known("version"),
        description="null: the newest one known here",
    )


class NewSession(_Pinned):
    """A Session to make; its main Thread is pinned to a version of an agent."""

    session_id: str = Field(pattern=NAME)


class NewThread(_Pinned):
    """A Thread to make, pinned to a version of an agent."""

    thread_id: str = Field(pattern=NAME)


class Retention(Wire):
    """How many events are kept, and for how many seconds; null: as the deployment says."""

    events: _Bound | None = None
    seconds: _Bound | None = None


@route(router, "GET", SESSIONS, needs=Operation.READ, gives=page_model(SessionView))
def list_sessions(where: InNamespace, page: Pages) -> Page[SessionView]:
    """Sessions of one namespace, the oldest first."""
    return runtime().list_sessions(where.namespace, page.after, page.limit)


@route(router, "POST", SESSIONS, needs=Operation.SUBMIT, gives=model(SessionView), status=201)
def create_session(where: InNamespace, body: NewSession) -> SessionView:
    """Make a Session with its main Thread; an identical create gives the one there is."""
    made = runtime().create_session(
        where.namespace, body.session_id, agent=body.agent, version=body.version
    )
    return made.view()


@route(router, "GET", SESSION, needs=Operation.READ, gives=model(SessionView))
def get_session(where: AtSession) -> SessionView:
    """One Session as it stands."""
    return where.session(runtime()).view()


@route(router, "POST", SESSION + "/close", needs=Operation.CONTROL, gives=model(SessionView))
def close_session(where: AtSession) -> SessionView:
    """Close a Session and its Threads; a conflict while a Turn is unfinished."""
    session = where.session(runtime())
    session.close()
    return session.view()


@route(router, "PUT", SESSION + "/retention", needs=Operation.OPERATE, gives=model(SessionView))
def set_retention(where: AtSession, body: Retention) -> SessionView:
    """Say how many events of a Session are kept, and for how long."""
    session = where.session(runtime())
    session.retain(body.events, body.seconds)
    return session.view()


@route(router, "GET", SESSION + "/threads", needs=Operation.READ, gives=page_model(ThreadView))
def list_threads(where: AtSession, page: Pages) -> Page[ThreadView]:
    """Threads of a Session, in the order in which they were made."""
    return where.session(runtime()).list_threads(page.after, page.limit)


@route(
    router,
    "POST",
    SESSION + "/threads",
    needs=Operation.SUBMIT,
    gives=model(ThreadView),
    status=201,
)
def create_thread(where: AtSession, body: NewThread) -> ThreadView:
    """Make a Thread; an identical create gives the one there is."""
    session = where.session(runtime())
    return session.create_thread(body.thread_id, body.agent, body.version).view()


@route(router, "GET", THREAD, needs=Operation.READ, gives=model(ThreadView))
def get_thread(where: AtThread) -> ThreadView:
    """One Thread as it stands."""
    return where.thread(runtime()).view()


@route(router, "POST", THREAD + "/close", needs=Operation.CONTROL, gives=model(ThreadView))
def close_thread(where: AtThread) -> ThreadView:
    """Let a Thread take no more Turns; a conflict while one is unfinished."""
    thread = where.thread(runtime())
    thread.close()
    return thread.view()


@route(router, "GET", THREAD + "/messages", needs=Operation.READ, gives=page_model(MessageView))
def list_messages(where: AtThread, page: Pages) -> Page[MessageView]:
    """History of a Thread: messages in the order of their first public sequence."""
    return where.thread(runtime()).history(page.after, page.limit)


@route(
    router, "GET", THREAD + "/checkpoints", needs=Operation.READ, gives=page_model(CheckpointView)
)
def list_checkpoints(where: AtThread, page: Pages) -> Page[CheckpointView]:
    """Checkpoints of a Thread: where they stand, never what they hold."""
    return where.thread(runtime()).checkpoints(page.after, page.limit)
