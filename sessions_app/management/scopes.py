"""How people name what they want to see: a session, a thread of it, or a turn by its id alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Invalid
from sessions_app.contract.identity import SessionKey

if TYPE_CHECKING:
    from sessions_app.runtime import DurableRuntime, SessionHandle, ThreadHandle, TurnHandle

HELP: Final = "namespace/session, namespace/session/thread, or a turn id"
_PARTS: Final = 3


def session_key(text: str) -> SessionKey:
    """The key that `namespace/session` names; raises Invalid."""
    namespace, slash, session_id = text.partition("/")
    if not slash:
        msg = f"session {text!r} must be namespace/session"
        raise Invalid(msg)
    return SessionKey(namespace, session_id)


def find(runtime: DurableRuntime, text: str) -> SessionHandle | ThreadHandle | TurnHandle:
    """What the text names; raises Invalid or NotFound."""
    if "/" not in text:
        return runtime.find_turn(text)
    parts = text.split("/")
    session = runtime.get_session(parts[0], parts[1])
    if len(parts) > _PARTS:
        msg = f"{text!r} must be {HELP}"
        raise Invalid(msg)
    return session.get_thread(parts[2]) if len(parts) == _PARTS else session
