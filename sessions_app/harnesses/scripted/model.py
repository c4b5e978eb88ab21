"""The scripted model: answers from a script and refuses bad histories exactly as providers do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import JsonValue, check, clean
from sessions_app.harnesses.calls import distinct

Message: TypeAlias = dict[str, Any]
Transcript: TypeAlias = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a reply. Without an id it is `call_1`, `call_2`, anew in each reply (C52)."""

    name: str
    arguments: Any = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says next. A reply without calls is the answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""  # kept in the history for the model, and never public (R074)


Replies: TypeAlias = Sequence[Reply] | Callable[[Transcript], Reply]


@dataclass(frozen=True, slots=True)
class Script:
    """The agent of this kernel.

    `replies` are those of each Turn in order, or a pure function of the transcript. `send` is
    awaited where a request would be on the wire; it may block, kill or raise.
    """

    replies: Replies
    send: Callable[[Transcript], Awaitable[None]] | None = None


class RefusedError(Exception):
    """A definite client error, as a provider's status 400."""

    status_code: Final = 400


class ScriptedModel:
    """Sends one request at a time."""

    def __init__(self, script: Script) -> None:
        """The script stays unchanged while it is in use."""
        self._script = script

    async def request(self, transcript: Transcript, ordinal: int) -> Message:
        """Answer request `ordinal` of the Turn; raises RefusedError for a broken history."""
        refuse_broken(transcript)
        if self._script.send is not None:
            await self._script.send(transcript)
        return _message(self._reply(transcript, ordinal))

    def _reply(self, transcript: Transcript, ordinal: int) -> Reply:
        if callable(self._script.replies):
            return self._script.replies(transcript)
        try:
            return self._script.replies[ordinal - 1]
        except IndexError:
            msg = f"the script has {len(self._script.replies)} replies; request {ordinal} has none"
            raise RefusedError(msg) from None


def _message(reply: Reply) -> Message:
    ids = distinct([call.id or f"call_{place}" for place, call in enumerate(reply.calls, start=1)])
    calls = [
        {
            "id": call_id,
            "name": call.name,
            "arguments": _arguments(call),
        }
        for call_id, call in zip(ids, reply.calls, strict=True)
    ]
    said = {"role": "assistant", "text": reply.text, "calls": calls}
    message = clean({**said, "thinking": reply.thinking} if reply.thinking else said).value
    return cast("Message", message)


def _arguments(call: Call) -> JsonValue:
    """What the model wrote, or a text where no JSON can hold it, which fits no tool."""
    try:
        return clean({} if call.arguments is None else call.arguments).value
    except InvalidJson as error:
        return f"no JSON: {error}"


def refuse_broken(transcript: Transcript) -> None:
    """Raise RefusedError unless every call has its one result, in order, at once (law 8)."""
    _refuse_odd_text(transcript)
    if not transcript:
        msg = "a request needs messages"
        raise RefusedError(msg)
    open_calls: list[str] = []
    for place, message in enumerate(transcript):
        open_calls = _after(place, message, open_calls)
    if open_calls:
        msg = f"calls {open_calls} have no result"
        raise RefusedError(msg)
    if transcript[-1]["role"] == "assistant":
        msg = "the last message is the assistant's own"
        raise RefusedError(msg)


def _after(place: int, message: Message, open_calls: list[str]) -> list[str]:
    """Calls that wait for a result once this message is read."""
    match message:
        case {"role": "tool", "call": call_id}:
            if not open_calls or call_id != open_calls[0]:
                msg = f"message {place}: a result for {call_id!r}, awaited: {open_calls or 'none'}"
                raise RefusedError(msg)
            return open_calls[1:]
        case _ if open_calls:
            msg = f"message {place}: calls {open_calls} have no result"
            raise RefusedError(msg)
        case {"role": "assistant", "calls": list() as calls}:
            return _ids(place, calls)
        case {"role": "user", "text": str()}:
            return []
        case _:
            msg = f"message {place} is of no known kind"
            raise RefusedError(msg)


def _ids(place: int, calls: list[Message]) -> list[str]:
    ids = [str(call["id"]) for call in calls]
    if place == 0 or len(set(ids)) < len(ids):
        msg = f"message {place}: an assistant message in front, or one call id twice: {ids}"
        raise RefusedError(msg)
    return ids


def _refuse_odd_text(transcript: Transcript) -> None:
    try:
        check(list(transcript))
    except InvalidJson as error:
        msg = f"the request is no JSON: {error}"
        raise RefusedError(msg) from None
