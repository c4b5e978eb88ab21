"""What dispatch and intake need of the store: the outbox and the inbox of external calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from hands_app.contract.messages import Update
    from hands_app.contract.strict_json import JsonValue
    from hands_app.objects.port import ObjectStore

Sent: TypeAlias = Literal["execute", "cancel", "query"]
Objects: TypeAlias = "Callable[[], ObjectStore | None]"
"""Gives the store that Hands may share; raises what says that it is not here now."""
Taken: TypeAlias = Literal["applied", "duplicate", "gap", "late", "refused", "foreign", "unread"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One envelope to send, as the store knows its call."""

    sent: Sent
    execution_id: str
    route: str
    request_digest: str
    position: int
    """The newest update that was taken in."""
    binding: JsonValue = field(repr=False)
    arguments: JsonValue = field(repr=False)
    origin: dict[str, JsonValue] = field(repr=False)
    scope: str
    """Where objects of the call are."""
    not_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A page of output to ask for, of the pool that has it."""

    command_id: str
    execution_id: str
    route: str
    request_digest: str
    offset: int
    limit: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an update.

    `foreign`: the execution is not of this house; `unread`: its body cannot be had now, so that
    nothing of it is taken in and the ledger is to tell it again.
    """

    taken: Taken
    position: int = 0
    """The newest update of the execution that is taken in now."""


class Outbox(Protocol):
    """Calls that are due to be sent or asked about."""

    def take(self, limit: int) -> list[Delivery]:
        """Take what is due, the oldest first; each comes again after a while, answered or not.

        Taking is durable before anything leaves, so that of several dispatchers one sends.
        Raises Unavailable.
        """

    def cannot_send(self, execution_id: str, code: str, text: str) -> bool:
        """End a call whose command cannot be written down; False when that is not certain."""


class Questions(Protocol):
    """Questions for output that only a Brain can ask, since the executor is inside of it."""

    def take(self) -> list[Question]:
        """Take what nobody else takes; one that is lost is asked again by whoever waits.

        Raises Unavailable.
        """


class Inbox(Protocol):
    """Takes updates in, each in one transaction."""

    def take(self, update: Update) -> Receipt:
        """Apply the update if it is the next one of its execution.

        Raises InvalidEnvelope for a result that cannot be read, Unavailable.
        """
