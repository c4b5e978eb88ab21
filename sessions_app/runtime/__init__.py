"""The Python API: one `DurableRuntime` a process, handles that hold identity only (R009, R013)."""

from sessions_app.runtime.runtime import DurableRuntime
from sessions_app.runtime.sessions import SessionHandle
from sessions_app.runtime.threads import ThreadHandle
from sessions_app.runtime.turns import TurnHandle

__all__ = ["DurableRuntime", "SessionHandle", "ThreadHandle", "TurnHandle"]
