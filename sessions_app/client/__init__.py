"""A client for programs without Django: the handles of the runtime, over HTTP (R118).

with RemoteRuntime.at("https://agents.example", token) as runtime:
turn = runtime.session("acme", "chat-7").submit("request-1", "How warm is it in Rome?")
print(turn.wait(60).result)
"""

from sessions_app.client.handles import SessionHandle, ThreadHandle
from sessions_app.client.runtime import RemoteRuntime
from sessions_app.client.turns import TurnHandle

__all__ = ["RemoteRuntime", "SessionHandle", "ThreadHandle", "TurnHandle"]
