"""Where calls and results stand in a stored message of the scripted kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.status import CallState
from sessions_app.contract.transcript import Mark
from sessions_app.harnesses.calls import NOT_EXECUTED, Shown
from sessions_app.harnesses.scripted import codec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Native
    from sessions_app.contract.transcript import Added, Message
    from sessions_app.harnesses.journal import Progress

WORDS: Final = (Mark("words"),)


class ScriptedGrammar:
    """See `Grammar`. A message asks, or holds one result, or says something."""

    envelope = codec.ENVELOPE

    def progress(self, native: Native) -> Progress:
        """See `Grammar`."""
        return codec.progress(native)

    def marks(self, stored: Any) -> Message:  # noqa: ANN401 - private to the kernel
        """See `Grammar`."""
        match stored:
            case {"role": "assistant", "calls": [_, *_] as calls}:
                return tuple(Mark("call", str(call["id"]), str(call["name"])) for call in calls)
            case {"role": "tool", "call": call_id}:
                return (Mark("result", str(call_id)),)
            case _:
                return WORDS

    def only(self, stored: Any, marks: Sequence[int]) -> JsonValue:  # noqa: ANN401, ARG002 - a message has one mark
        """See `Grammar`."""
        message: JsonValue = stored
        return message

    def not_executed(self, missing: Added) -> JsonValue:
        """See `Grammar`."""
        return codec.result(missing.call_id, Shown(NOT_EXECUTED, CallState.NOT_EXECUTED))
