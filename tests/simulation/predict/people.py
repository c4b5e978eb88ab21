"""Requests of people and programs as they should be admitted or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.predict import controls
from tests.simulation.predict.state import Expected, Facts, ended

if TYPE_CHECKING:
    from sessions_app.contract.views import Receipt


def repeated(session: Facts, request: str, content: Any) -> str | None:
    """How a known request id is answered: `same`, `CONFLICT`, or None for a new one (R030)."""
    known = session["requests"].get(request)
    if known is None:
        return None
    return "same" if known["content"] == content else "CONFLICT"


def take(session: Facts, content: Any, receipt: Receipt) -> None:
    """Remember what an admitted request was about, and its receipt."""
    session["requests"][receipt.request_id] = {"content": content, "receipt": receipt}


def submit(
    known: Expected, session: Facts, name: str, request: str, content: Any, *, traces: bool
) -> str:
    """The outcome, `same`, or the code of the refusal; `traces`: the head has a journal."""
    again = repeated(session, request, content)
    if again is not None:
        return again
    thread = thread_of(known, session, name)
    if thread is None:
        return "NOT_FOUND"
    if "CLOSED" in {thread["status"], session["status"]}:
        return "CLOSED"
    _, _, (_, policy) = content
    return _course(known, known.head(thread), policy, request, traces=traces)


def _course(known: Expected, head: Facts | None, policy: str, request: str, *, traces: bool) -> str:
    """What a policy comes to, given the first unfinished Turn."""
    if head is None or policy == "queue":
        return "queued"
    if policy == "reject":
        return "CONFLICT"
    if head["cancel"] or head["failed_for_good"]:
        return "queued"
    if policy == "steer":
        return "steered" if head["started"] else "queued"
    controls.cancel(known, head, request, traces=traces)
    return "replaced"


def new_input(signal_id: str, turn_id: str, kind: str) -> Facts:
    """An input as its admission leaves it."""
    return {"id": signal_id, "turn": turn_id, "kind": kind, "status": "PENDING"}


def create_thread(known: Expected, session: Facts, name: str, definition: str) -> str:
    """`created`, `same` or the code of the refusal (R026)."""
    thread = thread_of(known, session, name)
    if thread is not None:
        return "same" if thread["definition"] == definition else "CONFLICT"
    return "CLOSED" if session["status"] == "CLOSED" else "created"


def close_thread(known: Expected, thread: Facts) -> str:
    """`closed`, or CONFLICT while a Turn is unfinished; closing cancels nothing (R027)."""
    if thread["status"] == "OPEN" and known.queue(thread):
        return "CONFLICT"
    thread["status"] = "CLOSED"
    return "closed"


def close_session(known: Expected, session: Facts) -> str:
    """`closed` with every Thread, or CONFLICT while a Turn is unfinished (R027)."""
    threads = [one for one in known.threads.values() if one["session"] == session["name"]]
    turns = (turn for thread in threads for turn in known.turns_of(thread))
    if session["status"] == "OPEN" and not all(map(ended, turns)):
        return "CONFLICT"
    for thread in threads:
        thread["status"] = "CLOSED"
    session["status"] = "CLOSED"
    return "closed"


def thread_of(known: Expected, session: Facts, name: str) -> Facts | None:
    """The Thread of this name."""
    found = (t for t in known.threads.values() if t["session"] == session["name"])
    return next((thread for thread in found if thread["name"] == name), None)
