"""Receipts: in a Session a request id is taken once, by one operation and content (R030, R046).

A refusal takes nothing: the id stays free.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from hands_app.contract.strict_json import JsonValue, digest
from sessions_app.contract.decisions import checked_actor, checked_json
from sessions_app.contract.errors import Conflict
from sessions_app.contract.views import Receipt
from sessions_app.models import Command

if TYPE_CHECKING:
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.machine.change import Change
    from sessions_app.models import Session, Turn


@dataclass(frozen=True, slots=True)
class Control:
    """A request about one Turn, of a person or a program."""

    operation: str
    key: ThreadKey
    turn_id: str
    request_id: str
    content: JsonValue = None
    actor: str | None = None  # an operator, for the audit; no part of the request

    def __post_init__(self) -> None:
        """Raise Invalid for content that is no strict JSON, and for an actor that is no text."""
        checked_json(f"content of {self.operation}", self.content)
        if self.actor is not None:
            checked_actor(self.actor)

    @property
    def digest(self) -> str:
        """Of target, operation and content."""
        return command_digest(self.operation, f"{self.key.thread_id}/{self.turn_id}", self.content)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a decision answers: what came of the request, and the row that stands for it."""

    outcome: str = "admitted"
    subject: str | None = None


def command_digest(operation: str, target: str, content: JsonValue) -> str:
    """Digest under which a request id is taken."""
    return digest({"operation": operation, "target": target, "content": content})


def known(command: Command, operation: str, content_digest: str) -> Receipt:
    """The receipt of a request that was admitted before.

    Raises Conflict when the content differs (I14).
    """
    if command.operation != operation or command.digest != content_digest:
        msg = (
            f"request id {command.request_id} was used in this session "
            "with other content; use a new id"
        )
        raise Conflict(msg)
    return Receipt(**command.receipt)


def take(
    change: Change, session: Session, turn: Turn, content_digest: str, receipt: Receipt
) -> Receipt:
    """Take the request id with this change and give the receipt, the same for every repeat."""
    change.add(
        Command(
            id=change.new_id("cmd_"),
            session=session,
            request_id=receipt.request_id,
            operation=receipt.operation,
            digest=content_digest,
            turn=turn,
            receipt=asdict(receipt),
            at=change.now,
        )
    )
    return receipt
