"""Messages of users: what was submitted, steered, injected or answered, as public text (R038)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.events import EventType
from sessions_app.models import Message

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.content import UserInput
    from sessions_app.machine.change import Change
    from sessions_app.models import Turn


def user_message(
    change: Change,
    turn: Turn,
    content: UserInput,
    kind: str,
    request_id: str,
    *,
    ordinal: int = 0,
    interaction_id: str | None = None,
) -> None:
    """Commit a public message with its request id and input kind.

    That of an answer names the interaction too.
    """
    parts = content.wire()["parts"]
    session = turn.session
    message = Message(
        id=change.new_id("msg_"),
        session=session,
        thread=turn.thread,
        turn=turn,
        role="user",
        ordinal=ordinal,
        input_kind=kind,
        request_id=request_id,
        interaction_id=interaction_id,
        parts=parts,
        sequence=session.last_sequence + change.events_of(session.id) + 1,
        at=change.now,
    )
    change.add(message)
    payload: dict[str, JsonValue] = {
        "messageId": message.id,
        "role": "user",
        "inputKind": kind,
        "requestId": request_id,
        "attempt": 1,
        "revision": 1,
        "parts": parts,
    }
    if interaction_id is not None:
        payload["interactionId"] = interaction_id
    change.emit(session.id, EventType.MESSAGE_COMPLETED, payload, turn=turn)
