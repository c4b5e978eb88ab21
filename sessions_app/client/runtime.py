"""RemoteRuntime: the entry of the client; it knows an address and a token, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sessions_app.client.handles import SessionHandle
from sessions_app.client.transport import Transport
from sessions_app.contract import wire
from sessions_app.contract.errors import OutcomeUnknown
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.views import SessionView

if TYPE_CHECKING:
    from types import TracebackType

    from sessions_app.contract.paging import Page


@dataclass(frozen=True, slots=True)
class RemoteRuntime:
    """A site as its token sees it; safe under threads."""

    transport: Transport

    @classmethod
    def at(cls, address: str, token: str, *, timeout: float = 30.0) -> RemoteRuntime:
        """Make one for an address such as `https://agents.example`; connects when it is used."""
        return cls(Transport(address, token, timeout=timeout))

    def create_session(
        self, namespace: str, session_id: str, *, agent: str, version: str | None = None
    ) -> SessionHandle:
        """Make a Session with its main Thread; an identical create adds nothing (R025)."""
        key = SessionKey(namespace, session_id)
        body = {"sessionId": session_id, "agent": agent, "version": version}
        self.transport.post(f"/namespaces/{namespace}/sessions", body)
        return SessionHandle(self.transport, key)

    def session(self, namespace: str, session_id: str) -> SessionHandle:
        """The handle of a Session, without asking whether there is one (R009)."""
        return SessionHandle(self.transport, SessionKey(namespace, session_id))

    def get_session(self, namespace: str, session_id: str) -> SessionHandle:
        """A Session; raises NotFound."""
        found = self.session(namespace, session_id)
        found.view()
        return found

    def list_sessions(
        self, namespace: str, cursor: str | None = None, limit: int = 100
    ) -> Page[SessionView]:
        """Sessions of one namespace, the oldest first."""
        said = self.transport.get(f"/namespaces/{namespace}/sessions", cursor=cursor, limit=limit)
        try:
            return wire.parse_page(SessionView, said)
        except ValueError as error:
            msg = "an answer is no page of Sessions"
            raise OutcomeUnknown(msg) from error

    def close(self) -> None:
        """Close the connections; what was submitted goes on."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
