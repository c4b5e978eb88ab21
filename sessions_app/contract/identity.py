"""Identities: who a Session, Thread or Turn is.

A key holds identity only and can be rebuilt anywhere (R007, R009).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NewType

from hands_app.contract.wire import SIGNAL_KEY
from sessions_app.contract.errors import Invalid

SessionId = NewType("SessionId", str)
ThreadId = NewType("ThreadId", str)
TurnId = NewType("TurnId", str)
RunId = NewType("RunId", str)
StepId = NewType("StepId", str)
RequestId = NewType("RequestId", str)
Token = NewType("Token", str)

MAIN_THREAD: Final = "main"
MAX_KEY: Final = 128
_KEY = re.compile(SIGNAL_KEY)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,127}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:@+~/=-]{1,200}")


def checked_name(kind: str, value: object) -> str:
    """Return `value` if it is a safe name of 1 to 128 characters, else raise Invalid."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    msg = (
        f"{kind} {value!r:.80} is not a name: letters, digits and ._:@+~- only, 1 to 128 characters"
    )
    raise Invalid(msg)


def checked_request_id(value: object) -> str:
    """Return `value` if it is a request id of 1 to 200 safe characters, else raise Invalid."""
    if isinstance(value, str) and _REQUEST_ID.fullmatch(value):
        return value
    msg = f"request id {value!r:.80} must be text of 1 to 200 letters, digits or ._:@+~/=-"
    raise Invalid(msg)


def checked_revision(value: object) -> int:
    """Return `value` if it is a revision, a whole number from 1, else raise Invalid."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    msg = f"revision {value!r:.80} must be a whole number from 1, as a view of the turn shows it"
    raise Invalid(msg)


def checked_key(value: object) -> str:
    """Return `value` if it is a signal key, `x.<ns>.<name>`, else raise Invalid (R147)."""
    if isinstance(value, str) and len(value) <= MAX_KEY and _KEY.fullmatch(value):
        return value
    msg = (
        f"signal key {value!r:.80} must be x.<ns>.<name>: letters, digits, _ and - between dots, "
        f"{MAX_KEY} characters at most"
    )
    raise Invalid(msg)


@dataclass(frozen=True, slots=True, order=True)
class SessionKey:
    """(namespace, session id): one conversation of one tenant (R007, R008)."""

    namespace: str
    session_id: str

    def __post_init__(self) -> None:
        """Raise Invalid for an unsafe name."""
        checked_name("namespace", self.namespace)
        checked_name("session id", self.session_id)

    def thread(self, thread_id: str = MAIN_THREAD) -> ThreadKey:
        """Key of one Thread of this Session."""
        return ThreadKey(self, thread_id)

    def __str__(self) -> str:
        """As operators read it: namespace/session."""
        return f"{self.namespace}/{self.session_id}"


@dataclass(frozen=True, slots=True, order=True)
class ThreadKey:
    """Session key and thread id (R007)."""

    session: SessionKey
    thread_id: str = MAIN_THREAD

    def __post_init__(self) -> None:
        """Raise Invalid for an unsafe name."""
        checked_name("thread id", self.thread_id)

    def __str__(self) -> str:
        """As operators read it: namespace/session/thread."""
        return f"{self.session}/{self.thread_id}"


@dataclass(frozen=True, slots=True, order=True)
class DefinitionKey:
    """What a Thread is pinned to.

    An agent's name, its version and the version of its native state (R025, R131).
    """

    name: str
    version: str
    state_version: int = 1

    @property
    def any_version(self) -> str:
        """How a host says that it has every version of this agent: name@*."""
        return any_version(self.name)

    def __str__(self) -> str:
        """As operators read it: name@version, and #state where that is not the first."""
        state = f"#{self.state_version}" if self.state_version != 1 else ""
        return f"{self.name}@{self.version}{state}"


def any_version(name: str) -> str:
    """All versions of an agent, as one word that no version can be: name@*."""
    return f"{name}@*"
