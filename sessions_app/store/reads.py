"""Reads: sessions, threads, turns and what they did, as views. They start nothing (law 11, R010).

Each is one or a few statements, whatever it finds. Unknown and foreign answer alike: NotFound.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from django.db.models import F

from sessions_app.contract.errors import NotFound
from sessions_app.models import (
    Checkpoint,
    Message,
    ModelCall,
    Run,
    Session,
    Step,
    Thread,
    ToolCall,
    Turn,
)
from sessions_app.store import explaining, views
from sessions_app.store.looking import look, page

if TYPE_CHECKING:
    from sessions_app.contract.explanation import Explanation
    from sessions_app.contract.identity import SessionKey, ThreadKey
    from sessions_app.contract.paging import Page
    from sessions_app.contract.views import (
        CheckpointView,
        MessageView,
        ModelCallView,
        RunView,
        SessionView,
        StepView,
        ThreadView,
        ToolView,
        TurnView,
    )

M = TypeVar("M", Run, Step, ModelCall)
_ROUND: Final = 1_000_000  # more than a reply may have calls


@look
def session(key: SessionKey) -> SessionView:
    """One Session."""
    return views.session_view(session_row(key))


@look
def sessions(namespace: str, cursor: str | None = None, limit: int = 100) -> Page[SessionView]:
    """Sessions of one namespace, the oldest first."""
    rows = Session.objects.filter(namespace=namespace)
    return page(rows, f"sessions of {namespace}", "id", cursor, limit, views.session_view)


@look
def thread(key: ThreadKey) -> ThreadView:
    """One Thread."""
    return views.thread_view(_thread(key), key.session)


@look
def threads(key: SessionKey, cursor: str | None = None, limit: int = 100) -> Page[ThreadView]:
    """Threads of one Session, in the order in which they were made."""
    rows = Thread.objects.filter(session=session_row(key))
    view = partial(views.thread_view, session=key)
    return page(rows, f"threads of {key}", "id", cursor, limit, view)


@look
def turn(turn_id: str, within: SessionKey | ThreadKey | None = None) -> TurnView:
    """One Turn; `within` says whose it has to be, and a foreign one is NotFound."""
    row = Turn.objects.select_related("thread__session").filter(pk=turn_id).first()
    view = None if row is None else views.turn_view(row)
    if view is None or within not in {None, view.key, view.key.session}:
        msg = f"turn {turn_id} was not found" + (f" in {within}" if within else "")
        raise NotFound(msg)
    return view


def explain(turn_id: str) -> Explanation:
    """Why a Turn is not running; the one function behind every surface."""
    return explaining.why(turn_id)


@look
def turns_of_session(
    key: SessionKey, cursor: str | None = None, limit: int = 100
) -> Page[TurnView]:
    """Turns of all Threads of one Session, in the order in which they were made."""
    rows = Turn.objects.select_related("thread__session").filter(session=session_row(key))
    return page(rows, f"turns of {key}", "id", cursor, limit, views.turn_view)


@look
def turns_of_thread(key: ThreadKey, cursor: str | None = None, limit: int = 100) -> Page[TurnView]:
    """Turns of one Thread, in order of admission, which is the order in which they run (R033)."""
    rows = Turn.objects.select_related("thread__session").filter(thread=_thread(key))
    return page(rows, f"turns of {key}", "ordinal", cursor, limit, views.turn_view)


@look
def messages(key: ThreadKey, cursor: str | None = None, limit: int = 100) -> Page[MessageView]:
    """History of one Thread: user and assistant messages by first public sequence (R070, R075)."""
    rows = Message.objects.filter(thread=_thread(key))
    view = partial(views.message_view, thread=key)
    return page(rows, f"messages of {key}", "sequence", cursor, limit, view)


@look
def tools(turn_id: str, cursor: str | None = None, limit: int = 100) -> Page[ToolView]:
    """Tool calls of one Turn, in the order in which the model made them (R078)."""
    turn = Turn.objects.select_related("thread__session").filter(pk=turn_id).first()
    if turn is None:
        msg = f"turn {turn_id} was not found"
        raise NotFound(msg)
    rows = ToolCall.objects.filter(turn=turn).annotate(place=F("round") * _ROUND + F("ordinal"))
    view = partial(views.tool_view, thread=turn.thread.key_in(turn.thread.session.key))
    return page(rows, f"tools of {turn_id}", "place", cursor, limit, view)


@look
def checkpoints(key: ThreadKey, after: str | None = None, limit: int = 100) -> Page[CheckpointView]:
    """What is known of a Thread's checkpoints; their bodies stay private (R019, R088)."""
    rows = Checkpoint.objects.filter(thread=_thread(key)).defer("body")
    return page(rows, f"checkpoints of {key}", "ordinal", after, limit, views.checkpoint_view)


@look
def runs(turn_id: str, cursor: str | None = None, limit: int = 100) -> Page[RunView]:
    """Runs of one Turn, the first one first."""
    if not Turn.objects.filter(pk=turn_id).exists():
        msg = f"turn {turn_id} was not found"
        raise NotFound(msg)
    rows = Run.objects.filter(turn=turn_id)
    return page(rows, f"runs of {turn_id}", "ordinal", cursor, limit, views.run_view)


@look
def run(turn_id: str, run_id: str) -> RunView:
    """One Run of this Turn."""
    return views.run_view(_of_turn(Run, turn_id, run_id))


@look
def step(turn_id: str, step_id: str) -> StepView:
    """One Step of this Turn."""
    return views.step_view(_of_turn(Step, turn_id, step_id))


@look
def model_call(turn_id: str, call_id: str) -> ModelCallView:
    """One model request of this Turn."""
    return views.model_call_view(_of_turn(ModelCall, turn_id, call_id))


@look
def steps(turn_id: str, run_id: str, cursor: str | None = None, limit: int = 100) -> Page[StepView]:
    """Steps of one Run of this Turn."""
    _of_turn(Run, turn_id, run_id)
    rows = Step.objects.filter(run=run_id)
    return page(rows, f"steps of {run_id}", "ordinal", cursor, limit, views.step_view)


@look
def model_calls(
    turn_id: str,
    run_id: str,
    step_id: str | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[ModelCallView]:
    """Model requests of one Run of this Turn; without a Step all of the Run (R064)."""
    _of_turn(Run, turn_id, run_id)
    rows = ModelCall.objects.filter(run=run_id)
    if step_id is not None:
        if not Step.objects.filter(pk=step_id, run=run_id).exists():
            msg = f"step {step_id} was not found in {run_id}"
            raise NotFound(msg)
        rows = rows.filter(step=step_id)
    name = f"model calls of {run_id} {step_id}"
    return page(rows, name, "id", cursor, limit, views.model_call_view)


def session_row(key: SessionKey) -> Session:
    """The row of one Session; raises NotFound."""
    row = Session.objects.filter(namespace=key.namespace, session_id=key.session_id).first()
    if row is None:
        msg = f"session {key} was not found"
        raise NotFound(msg)
    return row


def _thread(key: ThreadKey) -> Thread:
    row = Thread.objects.filter(
        session__namespace=key.session.namespace,
        session__session_id=key.session.session_id,
        thread_id=key.thread_id,
    ).first()
    if row is None:
        msg = f"thread {key} was not found"
        raise NotFound(msg)
    return row


def _of_turn(kind: type[M], turn_id: str, key: str) -> M:
    row: M | None = kind._base_manager.filter(pk=key, turn=turn_id).first()
    if row is None:
        msg = f"{kind._meta.verbose_name} {key} was not found in {turn_id}"
        raise NotFound(msg)
    return row
